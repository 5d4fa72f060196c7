/* A program of ABI 3 as code generation makes it: y = 2 x + w over float[8, 256], by one kernel on the device. With
 * HOST, a loop on the processor adds 1; with FOREIGN, the kernel is to read the processor's memory; with NOTHING, there is
 * nothing to do. KERNEL is another kernel to launch, BLOCK another size of its blocks. */
#include "compiler_core/runtime/program_abi.h"

#ifndef KERNEL
#define KERNEL 0
#endif
#ifndef BLOCK
#define BLOCK 64
#endif
#ifdef FOREIGN
#define X ((uint64_t)inputs[0])
#else
#define X ((uint64_t)device)
#endif
enum { kRows = 8, kColumns = 256, kCount = kRows * kColumns, kBytes = kCount * 4 };

static void shapes(const int64_t* symbols, int64_t* output_dims) {
  output_dims[0] = kRows;
  output_dims[1] = kColumns;
}

#ifdef HOST
static void add_one(void* environment, int64_t task, void* scratch) {
  float* y = environment;
  for (int i = 0; i < kColumns; ++i) y[task * kColumns + i] += 1.0f;
}
#endif

static int32_t run(const kiln_callbacks* callbacks, void* arena, const void* const* weights,
                   const void* const* inputs, void* const* outputs, const int64_t* symbols,
                   int64_t* output_dims) {
  char* device = callbacks->arenas[1];
  const uint64_t arguments[] = {X, (uint64_t)weights[0], (uint64_t)(device + kBytes), kCount};
  const kiln_launch launch = {1, KERNEL, {kCount / 64, 1, 1}, BLOCK, 4, 0, arguments};
  int32_t status;
  shapes(symbols, output_dims);
#ifdef NOTHING
  return KILN_RUN_OK;
#endif
  if ((status = callbacks->copy(callbacks->user, 1, device, 0, inputs[0], kBytes))) return status;
  if ((status = callbacks->launch(callbacks->user, &launch))) return status;
  if ((status = callbacks->copy(callbacks->user, 0, outputs[0], 1, device + kBytes, kBytes))) return status;
#ifdef HOST
  if ((status = callbacks->wait(callbacks->user, 1))) return status;
  callbacks->parallel_for(callbacks->user, add_one, outputs[0], kRows);
#endif
  return KILN_RUN_OK;
}

static const kiln_profile profiles[] = {{0, 0, run, shapes}};
static const uint64_t arena_bytes[] = {0, 2 * kBytes};
__attribute__((visibility("default"))) const kiln_device_program kiln_program_table __asm__("kiln_program") = {
    {KILN_PROGRAM_ABI_DEVICES, 1, 1, 2, 1, 1, 2, 0, profiles}, 2, 0, arena_bytes};
