#include "compiler_core/runtime/parallel/thread_pool.h"

#include <system_error>

#include "compiler_core/runtime/parallel/fp_state.h"

namespace kiln::runtime {
namespace {

// The gate: the number of the loop, whether it may be joined, whether the pool ends, workers inside.
constexpr std::uint64_t kOpen = 1 << 15, kStopping = 1 << 14, kInside = kStopping - 1;
constexpr unsigned kRoundShift = 16;

// Loops follow each other within microseconds. Some tens of these are spent looking; then for about a
// millisecond the processor is offered to others between looks; a thread that sleeps takes as long as several
// kernels to run again.
constexpr int kLooks = 2000, kYields = 2000;

bool look(auto isDone) {
  for (int i = 0; i < kLooks; ++i) {
    if (isDone()) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#elif defined(__riscv)
    __asm__ __volatile__(".insn i 0x0f, 0, x0, x0, 0x010");  // pause, which older assemblers do not know
#endif
  }
  for (int i = 0; i < kYields; ++i) {
    if (isDone()) return true;
    std::this_thread::yield();
  }
  return false;
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
  gate_.fetch_or(kStopping);
  wakeSleepers();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Loop::work(unsigned slot) {
  if (parts == nullptr) {
    takeTasks(slot);
    return;
  }
  Part& part = parts[slot];
  part.start = std::chrono::steady_clock::now();
  part.tasks = takeTasks(slot);
  part.end = std::chrono::steady_clock::now();
}

std::int64_t ThreadPool::Loop::takeTasks(unsigned slot) {
  void* const memory = scratch.stride == 0 ? nullptr : scratch.base + slot * scratch.stride;
  for (std::int64_t taken = 0;; ++taken) {
    const std::int64_t task = next.fetch_add(1, std::memory_order_relaxed);
    if (task >= tasks) return taken;
    const FpScope state;
    kernel(env, task, memory);
  }
}

// The gate orders everything that is not a task: a worker sees the loop's fields because it joined at the
// open gate, the caller sees a worker's writes because the worker left through it.
void ThreadPool::run(kiln_kernel kernel, void* env, std::int64_t tasks, Scratch scratch, Part* parts) {
  if (tasks <= 0) return;
  Loop loop{kernel, env, tasks, scratch, parts};
  if (tasks == 1 || workers_.empty()) return loop.work(0);
  loop_ = &loop;
  const std::uint64_t round = (gate_.load(std::memory_order_relaxed) >> kRoundShift) + 1;
  gate_.store(round << kRoundShift | kOpen);
  wakeSleepers();
  loop.work(0);
  gate_.fetch_and(~kOpen);  // late workers find nothing to join
  waitUntilEmpty();
}

void ThreadPool::wakeSleepers() {
  if (asleep_.load() == 0) return;
  const MutexLock lock(mutex_);
  started_.notifyAll();
}

void ThreadPool::waitUntilEmpty() {
  const auto isEmpty = [&] { return (gate_.load() & kInside) == 0; };
  if (look(isEmpty)) return;
  const MutexLock lock(mutex_);
  callerAsleep_.store(true);
  while (!isEmpty()) finished_.wait(mutex_);
  callerAsleep_.store(false);
}

void ThreadPool::waitForRound(std::uint64_t seen) {
  const auto isNew = [&] {
    const std::uint64_t gate = gate_.load();
    return gate >> kRoundShift != seen || (gate & kStopping) != 0;
  };
  if (look(isNew)) return;
  const MutexLock lock(mutex_);
  asleep_.fetch_add(1);
  while (!isNew()) started_.wait(mutex_);
  asleep_.fetch_sub(1);
}

// Works on the loop that is on, unless it ended meanwhile.
void ThreadPool::enterLoop(std::uint64_t& seen, unsigned slot) {
  std::uint64_t gate = gate_.load();
  while ((gate & kOpen) != 0 && !gate_.compare_exchange_weak(gate, gate + 1)) {
  }
  seen = gate >> kRoundShift;
  if ((gate & kOpen) == 0) return;
  loop_->work(slot);
  if ((gate_.fetch_sub(1) & kInside) == 1 && callerAsleep_.load()) {
    const MutexLock lock(mutex_);
    finished_.notifyOne();
  }
}

void ThreadPool::serve(unsigned slot) {
  std::uint64_t seen = 0;
  while (true) {
    waitForRound(seen);
    if ((gate_.load() & kStopping) != 0) return;
    enterLoop(seen, slot);
  }
}

}  // namespace kiln::runtime
