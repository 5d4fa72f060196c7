// std::mutex and a condition variable with clang's thread-safety annotations, after LevelDB's port::Mutex:
// what a mutex guards is said in the code, and clang refuses whoever touches it without.
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#if defined(__clang__)
#define KILN_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define KILN_THREAD_ANNOTATION(x)
#endif
#define KILN_CAPABILITY KILN_THREAD_ANNOTATION(capability("mutex"))
#define KILN_SCOPED KILN_THREAD_ANNOTATION(scoped_lockable)
// Of a member: touched only with the mutex held.
#define KILN_GUARDED_BY(x) KILN_THREAD_ANNOTATION(guarded_by(x))
// Of a function: its caller holds the mutex, does not hold it, or is told that it is held.
#define KILN_REQUIRES(...) KILN_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define KILN_EXCLUDES(...) KILN_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define KILN_ASSERTS(...) KILN_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
// Of a function: takes or gives back the mutex, or does what the analysis cannot follow.
#define KILN_ACQUIRE(...) KILN_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define KILN_RELEASE(...) KILN_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define KILN_NO_ANALYSIS KILN_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace kiln {

class KILN_CAPABILITY Mutex {
 public:
  void lock() KILN_ACQUIRE() { mutex_.lock(); }
  void unlock() KILN_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Holds the mutex until it is destroyed. Not thread safe itself.
class KILN_SCOPED MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) KILN_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() KILN_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // For a while without the mutex. The two take turns.
  void unlock() KILN_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  void lock() KILN_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// A condition variable. It gives the mutex back while it waits, and may wake without a reason: loop over the
// condition, or hand over a predicate. That one is annotated as well:
//   stopped_.waitFor(mutex_, kPause, [this]() KILN_REQUIRES(mutex_) { return stopping_; })
class Condition {
 public:
  void wait(Mutex& mutex) KILN_REQUIRES(mutex) { condition_.wait(mutex); }
  void waitFor(Mutex& mutex, std::chrono::nanoseconds timeout) KILN_REQUIRES(mutex) {
    condition_.wait_for(mutex, timeout);
  }
  // What the predicate says in the end: false only once `timeout` has passed.
  template <class Predicate>
  bool waitFor(Mutex& mutex, std::chrono::nanoseconds timeout, Predicate predicate) KILN_REQUIRES(mutex) {
    return condition_.wait_for(mutex, timeout, std::move(predicate));
  }
  // Until `timeout` has passed or somebody asks for the stop.
  void waitFor(Mutex& mutex, std::chrono::nanoseconds timeout, const std::stop_token& stop)
      KILN_REQUIRES(mutex) {
    condition_.wait_for(mutex, stop, timeout, [] { return false; });
  }
  void notifyOne() { condition_.notify_one(); }
  void notifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable_any condition_;
};

}  // namespace kiln
