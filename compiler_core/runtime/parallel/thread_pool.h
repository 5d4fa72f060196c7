// Runs the tasks of one parallel loop at a time on a fixed set of threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "compiler_core/runtime/program_abi.h"
#include "manifest/base/mutex.h"
#include "manifest/base/result.h"

namespace kiln::runtime {

// Scratch memory for the tasks: slot i has [base + i * stride, base + (i + 1) * stride).
struct Scratch {
  std::byte* base = nullptr;  // may be null when stride is 0
  std::size_t stride = 0;
};

class ThreadPool {
 public:
  // What one thread did of a loop: nothing where it found no task left.
  struct Part {
    std::chrono::steady_clock::time_point start, end;
    std::int64_t tasks = 0;
  };

  // `threads` counts the caller of run(), so threads - 1 are started; at least 1. kResourceExhausted when the
  // system refuses a thread.
  static Result<std::unique_ptr<ThreadPool>> start(unsigned threads);
  // No run() may be in progress.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

  // kernel(env, i, scratch of the slot) once for each i in [0, tasks), each in the program's floating-point
  // state. Returns when all are done; their writes are visible to the caller. One caller at a time; a task
  // must not call it. `parts`: null, or one of each thread to fill in; those of threads that never looked at
  // the loop stay as they are.
  void run(kiln_kernel kernel, void* env, std::int64_t tasks, Scratch scratch, Part* parts = nullptr);

 private:
  struct Loop {
    kiln_kernel kernel;
    void* env;
    std::int64_t tasks;
    Scratch scratch;
    Part* parts;
    alignas(64) std::atomic<std::int64_t> next{0};
    // Takes tasks until none is left, and says what it did where that is asked for.
    void work(unsigned slot);
    // How many it took.
    std::int64_t takeTasks(unsigned slot);
  };
  ThreadPool() = default;
  void serve(unsigned slot);
  void enterLoop(std::uint64_t& seen, unsigned slot);
  void waitForRound(std::uint64_t seen);
  void waitUntilEmpty();
  void wakeSleepers();

  // One word says which loop is on, whether it may be joined, and how many workers are inside: a loop costs
  // a store of the caller's and two exchanges of each worker's, without a lock. A worker that is inside reads
  // loop_; the caller changes that only when none is.
  alignas(64) std::atomic<std::uint64_t> gate_{0};
  Loop* loop_ = nullptr;

  // For those who looked long enough in vain. Each side first says that it sleeps, then looks once more; the
  // other first changes the gate, then looks for sleepers.
  alignas(64) std::atomic<unsigned> asleep_{0};  // workers
  std::atomic<bool> callerAsleep_{false};
  Mutex mutex_;
  Condition started_, finished_;
  std::vector<std::thread> workers_;
};

}  // namespace kiln::runtime
