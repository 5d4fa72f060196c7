#include "compiler_core/runtime/emulated/block.h"

#include <signal.h>
#include <sys/mman.h>

#include <cstring>
#include <mutex>

namespace kiln::emulated {

namespace {

thread_local BlockRunner* faultingRunner = nullptr;  // whose fiber runs on this host thread

// xorshift64*: the same sequence everywhere.
std::uint64_t nextRandom(std::uint64_t& state) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545F4914F6CDD1Dull;
}

struct sigaction previousSegv, previousBus;

}  // namespace

void leaveFaultingFiber() {
  BlockRunner* const runner = faultingRunner;
  if (runner == nullptr || runner->running_ == nullptr) return;
  runner->faulted_ = true;
  runner->running_->fiber.abandon();
}

namespace {

// A fault of a kernel is the kernel's end; every other one is whose it was before.
void onFault(int signal, siginfo_t* info, void* context) {
  leaveFaultingFiber();
  const struct sigaction& previous = signal == SIGBUS ? previousBus : previousSegv;
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
  ::signal(signal, SIG_DFL);
}

void watchFaults() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_sigaction = &onFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    ::sigaction(SIGSEGV, &action, &previousSegv);
    ::sigaction(SIGBUS, &action, &previousBus);
  });
}

// The handler cannot run on a stack that has just overflown. One per host thread.
void useSignalStack() {
  thread_local GuardedMemory stack(64 << 10);
  thread_local bool used = false;
  if (used || stack.begin() == nullptr) return;
  used = true;
  const stack_t signalStack{stack.begin(), 0, stack.bytes()};
  stack_t current{};
  if (::sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE) != 0)
    ::sigaltstack(&signalStack, nullptr);
}

}  // namespace

BlockRunner::BlockRunner(Order order) : order_(order) {}
BlockRunner::~BlockRunner() = default;

void BlockRunner::body(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  thread.work->kernel->kernel(thread.work->arguments, &thread.context);
}

void BlockRunner::barrier(kiln_emulated_thread* self) {
  Thread& thread = threadOf(self);
  thread.state = State::kBarrier;
  thread.fiber.yield();
}

// The last thread of the warp to arrive computes for all and goes on.
void BlockRunner::collective(kiln_emulated_thread* self, std::uint32_t kind, const std::uint32_t* in,
                             std::uint32_t* out) {
  Thread& thread = threadOf(self);
  BlockRunner& runner = *thread.runner;
  thread.kind = kind;
  thread.in = in;
  thread.out = out;
  thread.state = State::kCollective;
  const std::size_t first = self->thread / kWarp * kWarp;
  WarpFragments warp;
  for (std::size_t lane = 0; lane < kWarp; ++lane) {
    const Thread& other = *runner.threads_[first + lane];
    if (other.state != State::kCollective || other.kind != kind) return thread.fiber.yield();
    warp.in[lane] = other.in;
    warp.out[lane] = other.out;
  }
  if (!multiplyAccumulate(kind, warp)) {
    runner.failure_ = "a step of a warp of the unknown kind " + std::to_string(kind);
    return thread.fiber.yield();
  }
  for (std::size_t lane = 0; lane < kWarp; ++lane) runner.threads_[first + lane]->state = State::kReady;
}

bool BlockRunner::prepare(const BlockWork& work) {
  watchFaults();
  useSignalStack();
  failure_.clear();
  count_ = work.kernel->threads;
  while (threads_.size() < count_) threads_.push_back(std::make_unique<Thread>());
  std::byte* shared = nullptr;
  if (const std::size_t bytes = work.kernel->shared_bytes; bytes != 0) {
    // Its end is at the guard, but for what its alignment takes.
    const std::size_t padded = (bytes + KILN_EMULATED_SHARED_ALIGNMENT - 1) / KILN_EMULATED_SHARED_ALIGNMENT *
                               KILN_EMULATED_SHARED_ALIGNMENT;
    if (shared_ == nullptr || shared_->bytes() < padded) shared_ = std::make_unique<GuardedMemory>(padded);
    if (shared_->begin() == nullptr) return false;
    shared = shared_->end() - padded;
    std::memset(shared, 0xFF, padded);  // NaN in every floating-point type
  }
  for (std::size_t i = 0; i < count_; ++i) {
    Thread& thread = *threads_[i];
    thread.context = {
        static_cast<std::uint32_t>(i), work.x, work.y, work.z, shared, &thread, &barrier, &collective};
    thread.runner = this;
    thread.work = &work;
    thread.state = State::kReady;
    thread.started = false;
  }
  return true;
}

void BlockRunner::order(const BlockWork& work, std::uint64_t round) {
  sequence_.resize(count_);
  for (std::size_t i = 0; i < count_; ++i) sequence_[i] = order_ == Order::kDescending ? count_ - 1 - i : i;
  if (order_ != Order::kShuffled) return;
  std::uint64_t state = (work.number + 1) * 0x9E3779B97F4A7C15ull ^ (round + 1);
  for (std::size_t i = count_ - 1; i > 0; --i)
    std::swap(sequence_[i], sequence_[nextRandom(state) % (i + 1)]);
}

// A thread takes a stack when it starts and gives it back when it ends: where none waits, one stack serves
// them all.
void BlockRunner::step(Thread& thread) {
  if (!thread.started) {
    if (freeStacks_.empty()) {
      stacks_.emplace_back(KILN_EMULATED_STACK);
      if (stacks_.back().begin() == nullptr) {
        stacks_.pop_back();
        failure_ = "no memory for the stacks of its threads";
        return;
      }
      freeStacks_.push_back(stacks_.size() - 1);
    }
    thread.stack = freeStacks_.back();
    freeStacks_.pop_back();
    thread.started = true;
    const GuardedMemory& stack = stacks_[thread.stack];
    thread.fiber.start(stack.begin(), stack.end(), &body, &thread);
  }
  running_ = &thread;
  faultingRunner = this;
  thread.fiber.resume();
  faultingRunner = nullptr;
  running_ = nullptr;
  if (faulted_) {
    faulted_ = false;
    failure_ = "thread " + std::to_string(thread.context.thread) + " reads or writes outside of memory";
  }
  if (!thread.fiber.ended()) return;
  thread.state = State::kEnded;
  freeStacks_.push_back(thread.stack);
}

// All threads wait or have ended: lets them go on, or says why they never can.
std::string BlockRunner::release() {
  std::size_t waiting = 0, warps = 0, firstWaiting = 0;
  for (std::size_t i = count_; i-- > 0;) {
    warps += threads_[i]->state == State::kCollective ? 1 : 0;
    if (threads_[i]->state != State::kBarrier) continue;
    ++waiting;
    firstWaiting = i;
  }
  if (warps != 0) {
    return std::to_string(warps) + " of " + std::to_string(count_) +
           " threads wait for a step of their warp that the others do not take";
  }
  if (waiting != count_) {
    return "divergent barrier: " + std::to_string(waiting) + " of " + std::to_string(count_) +
           " threads wait at it, thread " + std::to_string(firstWaiting) +
           " the first, the others have ended";
  }
  for (std::size_t i = 0; i < count_; ++i) threads_[i]->state = State::kReady;
  return "";
}

// Their stacks are used anew; nothing is unwound, as kernels own nothing.
void BlockRunner::abandon() {
  freeStacks_.clear();
  for (std::size_t i = 0; i < stacks_.size(); ++i) freeStacks_.push_back(i);
}

std::string BlockRunner::run(const BlockWork& work) {
  if (!prepare(work)) return "no memory for its shared memory";
  for (std::uint64_t round = 0;; ++round) {
    order(work, round);
    bool moved = false, all = true;
    for (const std::size_t i : sequence_) {
      Thread& thread = *threads_[i];
      if (thread.state == State::kReady) {
        step(thread);
        moved = true;
        if (!failure_.empty()) {
          abandon();
          return failure_;
        }
      }
      all = all && thread.state == State::kEnded;
    }
    if (all) return "";
    if (moved) continue;
    failure_ = release();
    if (failure_.empty()) continue;
    abandon();
    return failure_;
  }
}

}  // namespace kiln::emulated
