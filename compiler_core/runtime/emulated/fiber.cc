#include "compiler_core/runtime/emulated/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#if KILN_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if KILN_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if defined(__x86_64__)
// Saves what a callee must keep on the running stack, its pointer to *from, and goes on where `to` was left.
// The floating-point control words belong to the thread, not to the fiber.
extern "C" void kiln_emulated_switch(void** from, void* to);
asm(R"(
  .text
  .p2align 4
  .hidden kiln_emulated_switch
  .globl kiln_emulated_switch
  .type kiln_emulated_switch, @function
kiln_emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
  .size kiln_emulated_switch, .-kiln_emulated_switch

  .p2align 4
  .hidden kiln_emulated_entry_point
  .globl kiln_emulated_entry_point
  .type kiln_emulated_entry_point, @function
kiln_emulated_entry_point:
  movq %r12, %rdi
  callq *%r13
  ud2
  .size kiln_emulated_entry_point, .-kiln_emulated_entry_point
)");
extern "C" void kiln_emulated_entry_point();
#endif

namespace kiln::emulated {

GuardedMemory::GuardedMemory(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t whole = (bytes + page - 1) / page * page;
  void* const mapped =
      ::mmap(nullptr, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return;
  begin_ = static_cast<std::byte*>(mapped) + page;
  bytes_ = whole;
  if (::mprotect(begin_, whole, PROT_READ | PROT_WRITE) == 0) return;
  ::munmap(mapped, whole + 2 * page);
  begin_ = nullptr;
  bytes_ = 0;
}

GuardedMemory::~GuardedMemory() {
  if (begin_ == nullptr) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  ::munmap(begin_ - page, bytes_ + 2 * page);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

void Fiber::start(std::byte* begin, std::byte* end, Work work, void* argument) {
  begin_ = begin;
  end_ = end;
  work_ = work;
  argument_ = argument;
  ended_ = false;
#if KILN_FIBER_ASAN
  __asan_unpoison_memory_region(begin, static_cast<std::size_t>(end - begin));
#endif
#if KILN_FIBER_TSAN
  if (sanitizerInside_ == nullptr) sanitizerInside_ = __tsan_create_fiber(0);
#endif
#if defined(__x86_64__)
  // What kiln_emulated_switch pops: r15, r14, r13, r12, rbx, rbp, and where it returns to. The entry point is
  // reached with the stack aligned as before a call.
  void** const top = reinterpret_cast<void**>(end) - 2;
  void** frame = top - 7;
  frame[0] = nullptr;
  frame[1] = nullptr;
  frame[2] = reinterpret_cast<void*>(&Fiber::enter);
  frame[3] = this;
  frame[4] = nullptr;
  frame[5] = nullptr;
  frame[6] = reinterpret_cast<void*>(&kiln_emulated_entry_point);
  top[0] = nullptr;
  inside_ = frame;
#else
  ::getcontext(&inside_);
  inside_.uc_stack.ss_sp = begin;
  inside_.uc_stack.ss_size = static_cast<std::size_t>(end - begin);
  inside_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  const auto trampoline = +[](unsigned low, unsigned high) {
    enter(reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(high) << 32 | low));
  };
  ::makecontext(&inside_, reinterpret_cast<void (*)()>(trampoline), 2, static_cast<unsigned>(self),
                static_cast<unsigned>(self >> 32));
#endif
}

void Fiber::enter(Fiber* fiber) {
#if KILN_FIBER_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &fiber->outsideStack_, &fiber->outsideBytes_);
#endif
  fiber->work_(fiber->argument_);
  fiber->ended_ = true;
  fiber->leave(true);
}

void Fiber::resume() {
#if KILN_FIBER_TSAN
  sanitizerOutside_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(sanitizerInside_, 0);
#endif
#if KILN_FIBER_ASAN
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, begin_, static_cast<std::size_t>(end_ - begin_));
#endif
#if defined(__x86_64__)
  kiln_emulated_switch(&outside_, inside_);
#else
  ::swapcontext(&outside_, &inside_);
#endif
#if KILN_FIBER_ASAN
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void Fiber::yield() {
  leave(false);
}

void Fiber::abandon() {
  ended_ = true;
  leave(true);
}

void Fiber::leave(bool forGood) {
#if KILN_FIBER_TSAN
  __tsan_switch_to_fiber(sanitizerOutside_, 0);
#endif
#if KILN_FIBER_ASAN
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(forGood ? nullptr : &fake, outsideStack_, outsideBytes_);
#endif
#if defined(__x86_64__)
  kiln_emulated_switch(&inside_, outside_);
#else
  ::swapcontext(&inside_, &outside_);
#endif
#if KILN_FIBER_ASAN
  __sanitizer_finish_switch_fiber(fake, &outsideStack_, &outsideBytes_);
#endif
}

Fiber::~Fiber() {
#if KILN_FIBER_TSAN
  if (sanitizerInside_ != nullptr) __tsan_destroy_fiber(sanitizerInside_);
#endif
}

}  // namespace kiln::emulated
