#include "compiler_core/runtime/parallel/thread_pool.h"

#include <system_error>

#include "compiler_core/runtime/parallel/fp_state.h"

namespace kiln::runtime {
namespace {

// Some tens of microseconds: what a sleeping thread takes to run again.
constexpr int kLooks = 2000;

// Until `isDone`, or for as long as looking is cheaper than sleeping.
void look(auto isDone) {
  for (int i = 0; i < kLooks && !isDone(); ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
  }
}

}  // namespace

Result<std::unique_ptr<ThreadPool>> ThreadPool::start(unsigned threads) {
  std::unique_ptr<ThreadPool> pool(new ThreadPool());
  try {
    for (unsigned slot = 1; slot < threads; ++slot) {
      pool->workers_.emplace_back([raw = pool.get(), slot] { raw->serve(slot); });
    }
  } catch (const std::system_error& error) {
    return fail(Code::kResourceExhausted, "cannot start thread " + std::to_string(pool->threads() + 1) +
                                              " of " + std::to_string(threads) + ": " + error.what() +
                                              "; ask for fewer threads");
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  started_.notifyAll();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Loop::work(unsigned slot) {
  void* const memory = scratch.stride == 0 ? nullptr : scratch.base + slot * scratch.stride;
  while (true) {
    const std::int64_t task = next.fetch_add(1, std::memory_order_relaxed);
    if (task >= tasks) return;
    const FpScope state;
    kernel(env, task, memory);
  }
}

// The mutex orders everything that is not a task: a worker sees the loop's fields because it joined under the
// mutex, the caller sees a worker's writes because the worker left under it.
void ThreadPool::run(kiln_kernel kernel, void* env, std::int64_t tasks, Scratch scratch) {
  if (tasks <= 0) return;
  Loop loop{kernel, env, tasks, scratch};
  if (tasks == 1 || workers_.empty()) return loop.work(0);
  {
    const MutexLock lock(mutex_);
    loop_ = &loop;
    opened_.store(++round_, std::memory_order_release);
  }
  started_.notifyAll();
  loop.work(0);
  look([&] { return inside_.load(std::memory_order_acquire) == 0; });
  const MutexLock lock(mutex_);
  loop_ = nullptr;  // late workers find nothing to join
  while (joined_ != 0) finished_.wait(mutex_);
}

void ThreadPool::serve(unsigned slot) {
  std::uint64_t seen = 0;
  const MutexLock lock(mutex_);
  while (true) {
    if (loop_ == nullptr || round_ == seen) {
      const std::uint64_t known = round_;
      mutex_.unlock();
      look([&] { return opened_.load(std::memory_order_acquire) != known; });
      mutex_.lock();
    }
    while (!stopping_ && (loop_ == nullptr || round_ == seen)) started_.wait(mutex_);
    if (stopping_) return;
    seen = round_;
    Loop* const loop = loop_;
    ++joined_;
    inside_.fetch_add(1, std::memory_order_relaxed);
    mutex_.unlock();
    loop->work(slot);
    inside_.fetch_sub(1, std::memory_order_release);
    mutex_.lock();
    if (--joined_ == 0) finished_.notifyOne();
  }
}

}  // namespace kiln::runtime
