/* A candidate of a tuner for a product, one input, one weight and one output, that does what HOW says. */
#include "compiler_core/runtime/program_abi.h"

enum { kTrap, kHang, kWild, kStatus, kNothing, kSlow };
#ifndef ARENA
#define ARENA 64
#endif

static void shapes(const int64_t* symbols, int64_t* output_dims) {}

static int32_t run(const kiln_callbacks* callbacks, void* arena, const void* const* weights,
                   const void* const* inputs, void* const* outputs, const int64_t* symbols,
                   int64_t* output_dims) {
  if (HOW == kTrap) __builtin_trap();
  while (HOW == kHang) __asm__ volatile("");
  if (HOW == kWild) *(volatile int*)((char*)0 + 64) = 1;
  for (int i = 0; HOW == kSlow && i < 100000; ++i) __asm__ volatile("");
  return HOW == kStatus ? 7 : 0;
}

static const kiln_profile profiles[] = {{ARENA, 0, run, shapes}};
__attribute__((visibility("default"))) const kiln_program kiln_program_table __asm__("kiln_program") = {
    KILN_PROGRAM_ABI, 1, 1, 1, 0, 1, 2, 0, profiles};
