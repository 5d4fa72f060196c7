// The floating-point control state in which programs run: round to nearest, subnormals kept (no flush to
// zero, no denormals-are-zero), all exceptions masked.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace kiln::runtime {

// Sets the state for a scope and restores the thread's own afterwards, sticky flags included.
class FpScope {
 public:
  FpScope() : saved_(get()) { set(kProgramState); }
  ~FpScope() { set(saved_); }
  FpScope(const FpScope&) = delete;
  FpScope& operator=(const FpScope&) = delete;

#if defined(__x86_64__)
  using State = std::uint32_t;
  static constexpr State kProgramState = 0x1f80;  // MXCSR: the six exception masks
  static State get() { return _mm_getcsr(); }
  static void set(State state) { _mm_setcsr(state); }
#elif defined(__aarch64__)
  using State = std::uint64_t;
  static constexpr State kProgramState = 0;  // FPCR: nearest, no FZ, no traps
  static State get() {
    State state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void set(State state) { __asm__ volatile("msr fpcr, %0" : : "r"(state)); }
#elif defined(__riscv)
  using State = std::uint64_t;
  static constexpr State kProgramState = 0;  // fcsr: nearest; RISC-V has neither flushing nor traps
  static State get() {
    State state;
    __asm__ volatile("frcsr %0" : "=r"(state));
    return state;
  }
  static void set(State state) { __asm__ volatile("fscsr %0" : : "r"(state)); }
#endif

 private:
  State saved_;
};

}  // namespace kiln::runtime
