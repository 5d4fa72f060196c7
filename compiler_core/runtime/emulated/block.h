// Runs the threads of one block after another as a device would run them at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/emulated/emulated_abi.h"
#include "compiler_core/runtime/emulated/fiber.h"
#include "compiler_core/runtime/emulated/mma.h"
#include "compiler_core/runtime/emulated/settings.h"

namespace kiln::emulated {

// One block of a launch.
struct BlockWork {
  const kiln_emulated_entry* kernel = nullptr;
  const std::uint64_t* arguments = nullptr;
  std::uint32_t x = 0, y = 0, z = 0;
  std::uint64_t number = 0;  // of the grid, for a shuffled order
};

// Stacks and shared memory for one block at a time. Each thread is a fiber that runs until it reaches a
// barrier, a step of its warp or its end; between these, threads take turns in the order of the settings.
// Shared memory starts as NaN. Used by one host thread at a time.
class BlockRunner {
 public:
  explicit BlockRunner(Order order);
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  // What went wrong, for people: a barrier that some threads have passed by, a step without the whole warp,
  // an access outside of memory; "" when all threads have ended.
  std::string run(const BlockWork& work);

 private:
  enum class State { kReady, kBarrier, kCollective, kEnded };
  struct Thread {
    kiln_emulated_thread context;
    BlockRunner* runner = nullptr;
    const BlockWork* work = nullptr;
    State state = State::kEnded;
    std::size_t stack = 0;  // index; of a thread that has started and not ended
    bool started = false;
    Fiber fiber;
    std::uint32_t kind = 0;
    const std::uint32_t* in = nullptr;
    std::uint32_t* out = nullptr;
  };

  static void body(void* thread);
  static void barrier(kiln_emulated_thread* self);
  static void collective(kiln_emulated_thread* self, std::uint32_t kind, const std::uint32_t* in,
                         std::uint32_t* out);
  static Thread& threadOf(kiln_emulated_thread* self) { return *static_cast<Thread*>(self->driver); }
  bool prepare(const BlockWork& work);
  void order(const BlockWork& work, std::uint64_t round);
  void step(Thread& thread);
  std::string release();
  void abandon();
  // In the signal handler for a memory fault: leaves the fiber if one is running here.
  friend void leaveFaultingFiber();

  const Order order_;
  std::vector<std::unique_ptr<Thread>> threads_;  // as many as the largest block had
  std::size_t count_ = 0;                         // of this block
  std::vector<std::size_t> sequence_;
  std::vector<GuardedMemory> stacks_;
  std::vector<std::size_t> freeStacks_;
  std::unique_ptr<GuardedMemory> shared_;
  Thread* running_ = nullptr;
  bool faulted_ = false;  // running_ was left by a memory fault
  std::string failure_;
};

}  // namespace kiln::emulated
