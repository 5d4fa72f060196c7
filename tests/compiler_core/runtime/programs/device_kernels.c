/* Kernels as code generation makes them for the emulated device, by hand: those of programs/device.c, and bad ones. */
#include "compiler_core/runtime/emulated/emulated_abi.h"

enum { kThreads = 64, kColumns = 256 };
#define ENTRY(kernel, shared, parameters) {#kernel, kernel, kThreads, shared, sizeof parameters - 1, 0, parameters}

/* y[i] = 2 x[i] + w[i % 256]; each block reverses its part in shared memory and back. arguments: x, w, y, count. */
static void kiln_k0_scale(const uint64_t* arguments, kiln_emulated_thread* thread) {
  const float* x = (const float*)arguments[0];
  const float* w = (const float*)arguments[1];
  float* y = (float*)arguments[2];
  const uint64_t first = (uint64_t)thread->block_x * kThreads, i = first + thread->thread;
  float* shared = thread->shared;
  if (i < arguments[3]) shared[kThreads - 1 - thread->thread] = 2.0f * x[i];
  thread->barrier(thread);
  if (i < arguments[3]) y[i] = shared[kThreads - 1 - thread->thread] + w[i % kColumns];
}

static void kiln_k1_diverge(const uint64_t* arguments, kiln_emulated_thread* thread) {
  if (thread->thread < kThreads / 2) thread->barrier(thread);
}

static void kiln_k2_outside(const uint64_t* arguments, kiln_emulated_thread* thread) {
  ((volatile float*)arguments[2])[arguments[3]] = 1;  // just behind the arena
}

static const kiln_emulated_entry entries[] = {ENTRY(kiln_k0_scale, kThreads * sizeof(float), "pppv"),
                                              ENTRY(kiln_k1_diverge, 0, ""), ENTRY(kiln_k2_outside, 0, "pppv")};
__attribute__((visibility("default"))) const kiln_emulation kiln_emulation_table __asm__("kiln_emulation") = {
    KILN_EMULATION_ABI, sizeof entries / sizeof entries[0], entries};
