// A stack of its own that work runs on and leaves in the middle: one thread of an emulated block.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#define KILN_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KILN_FIBER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define KILN_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KILN_FIBER_ASAN 1
#endif
#endif

#if KILN_FIBER_TSAN && defined(__clang__)
// A function that is entered on one stack and left on another must not be counted.
#define KILN_FIBER_SWITCHES __attribute__((disable_sanitizer_instrumentation))
#else
#define KILN_FIBER_SWITCHES
#endif

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace kiln::emulated {

// Page-aligned memory between two pages that nobody may touch.
class GuardedMemory {
 public:
  // Empty when the system has no more.
  explicit GuardedMemory(std::size_t bytes);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  std::byte* begin() const { return begin_; }
  std::byte* end() const { return begin_ + bytes_; }
  std::size_t bytes() const { return bytes_; }  // whole pages

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

// The two sides of a switch: where the other one went on from. Used by one thread at a time.
class Fiber {
 public:
  using Work = void (*)(void*);
  // Uses stack [begin, end) from the first resume() on until the work has ended.
  void start(std::byte* begin, std::byte* end, Work work, void* argument);
  // From outside: runs the work until it yields or ends.
  KILN_FIBER_SWITCHES void resume();
  // From inside: back to resume().
  void yield();
  // From inside, anywhere in the work: back to resume() for good, without unwinding.
  void abandon();
  bool ended() const { return ended_; }
  ~Fiber();

 private:
  KILN_FIBER_SWITCHES static void enter(Fiber* fiber);
  KILN_FIBER_SWITCHES void leave(bool forGood);
#if defined(__x86_64__)
  void *inside_ = nullptr, *outside_ = nullptr;  // stack pointers
#else
  ucontext_t inside_, outside_;
#endif
  std::byte *begin_ = nullptr, *end_ = nullptr;
  Work work_ = nullptr;
  void* argument_ = nullptr;
  bool ended_ = true;
  // What the sanitizers want to be told.
  [[maybe_unused]] void *sanitizerInside_ = nullptr, *sanitizerOutside_ = nullptr;
  [[maybe_unused]] const void* outsideStack_ = nullptr;
  [[maybe_unused]] std::size_t outsideBytes_ = 0;
};

}  // namespace kiln::emulated
