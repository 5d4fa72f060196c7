/* A program of ABI 3 as code generation makes it: y = 2 x + w over float[N, 256] with N at most 8, by one kernel on the
 * device. With HOST, a loop on the processor adds 1 afterwards; with HOST_FIRST, one copies x before; with FOREIGN, the
 * kernel is to read the processor's memory; with NOTHING, there is nothing to do. KERNEL is another kernel to launch,
 * BLOCK another size of its blocks, ARENAS_AT how far from their place the table says the arenas' sizes are. */
#include "compiler_core/runtime/program_abi.h"

#ifndef KERNEL
#define KERNEL 0
#endif
#ifndef BLOCK
#define BLOCK 64
#endif
#ifndef ARENAS_AT
#define ARENAS_AT 0
#endif
#ifdef FOREIGN
#define X ((uint64_t)inputs[0])
#else
#define X ((uint64_t)device)
#endif
enum { kRows = 8, kColumns = 256, kBytes = kRows * kColumns * 4 };

static void shapes(const int64_t* symbols, int64_t* output_dims) {
  output_dims[0] = symbols[0];
  output_dims[1] = kColumns;
}

#ifdef HOST
static void add_one(void* environment, int64_t task, void* scratch) {
  float* y = environment;
  for (int i = 0; i < kColumns; ++i) y[task * kColumns + i] += 1.0f;
}
#endif

#ifdef HOST_FIRST
struct Rows {
  const float* from;
  float* to;
};
static void copy_row(void* environment, int64_t task, void* scratch) {
  const struct Rows* rows = environment;
  for (int i = 0; i < kColumns; ++i) rows->to[task * kColumns + i] = rows->from[task * kColumns + i];
}
#endif

static int32_t run(const kiln_callbacks* callbacks, void* arena, const void* const* weights,
                   const void* const* inputs, void* const* outputs, const int64_t* symbols,
                   int64_t* output_dims) {
  char* device = callbacks->arenas[1];
  const uint64_t count = (uint64_t)symbols[0] * kColumns;
  const uint64_t arguments[] = {X, (uint64_t)weights[0], (uint64_t)(device + kBytes), count};
  const kiln_launch launch = {1, KERNEL, {(uint32_t)count / 64, 1, 1}, BLOCK, 4, 0, arguments};
  const void* x = inputs[0];
  int32_t status;
  shapes(symbols, output_dims);
#ifdef NOTHING
  return KILN_RUN_OK;
#endif
#ifdef HOST_FIRST
  struct Rows rows = {x, outputs[0]};
  callbacks->parallel_for(callbacks->user, copy_row, &rows, symbols[0]);
  x = outputs[0];
#endif
  if ((status = callbacks->copy(callbacks->user, 1, device, 0, x, count * 4))) return status;
  if ((status = callbacks->launch(callbacks->user, &launch))) return status;
  if ((status = callbacks->copy(callbacks->user, 0, outputs[0], 1, device + kBytes, count * 4))) return status;
#ifdef HOST
  if ((status = callbacks->wait(callbacks->user, 1))) return status;
  callbacks->parallel_for(callbacks->user, add_one, outputs[0], symbols[0]);
#endif
  return KILN_RUN_OK;
}

#ifdef TWO_PROFILES
static const kiln_profile profiles[] = {{0, 0, run, shapes}, {0, 0, run, shapes}};
static const uint64_t arena_bytes[] = {0, 2 * kBytes, 0, 2 * kBytes};
#else
static const kiln_profile profiles[] = {{0, 0, run, shapes}};
static const uint64_t arena_bytes[] = {0, 2 * kBytes};
#endif
enum { kProfiles = sizeof profiles / sizeof profiles[0] };
__attribute__((visibility("default"))) const kiln_device_program kiln_program_table __asm__("kiln_program") = {
    {KILN_PROGRAM_ABI_DEVICES, 1, 1, 2, 1, kProfiles, 2, 0, profiles},
    2,
    0,
    (const uint64_t*)((const char*)arena_bytes + ARENAS_AT)};
