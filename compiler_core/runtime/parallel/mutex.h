// std::mutex and a condition variable with clang's thread-safety annotations.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define KILN_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define KILN_THREAD_ANNOTATION(x)
#endif
#define KILN_CAPABILITY KILN_THREAD_ANNOTATION(capability("mutex"))
#define KILN_SCOPED KILN_THREAD_ANNOTATION(scoped_lockable)
#define KILN_GUARDED_BY(x) KILN_THREAD_ANNOTATION(guarded_by(x))
#define KILN_ACQUIRE(...) KILN_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define KILN_RELEASE(...) KILN_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define KILN_REQUIRES(...) KILN_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))

namespace kiln::runtime {

class KILN_CAPABILITY Mutex {
 public:
  void lock() KILN_ACQUIRE() { mutex_.lock(); }
  void unlock() KILN_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class KILN_SCOPED MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) KILN_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() KILN_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waiting requires the mutex; loop over the condition.
class Condition {
 public:
  void wait(Mutex& mutex) KILN_REQUIRES(mutex) { condition_.wait(mutex); }
  void notifyOne() { condition_.notify_one(); }
  void notifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable_any condition_;
};

}  // namespace kiln::runtime
