/* A program of ABI 1, which knew fixed shapes only: y = x + 1 over float[4]. */
#include "compiler_core/runtime/program_abi.h"

static void add_one(void* environment, int64_t task, void* scratch) {
  float* const* env = environment;
  env[1][task] = env[0][task] + 1;
}

static int32_t run(const kiln_callbacks* callbacks, void* arena, const void* const* weights,
                   const void* const* inputs, void* const* outputs) {
  const void* env[] = {inputs[0], outputs[0]};
  callbacks->parallel_for(callbacks->user, add_one, env, 4);
  return 0;
}

#ifdef RUN_IN_DATA
static const unsigned char data[64] = {0xc3};
#define RUN (entry)(uintptr_t) data
#else
#define RUN run
#endif

typedef int32_t (*entry)(const kiln_callbacks*, void*, const void* const*, const void* const*, void* const*);
struct abi1_program {
  uint32_t abi, input_count, output_count, weight_count;
  uint64_t arena_bytes, scratch_bytes;
  int32_t (*run)(const kiln_callbacks*, void*, const void* const*, const void* const*, void* const*);
};
__attribute__((visibility("default"))) const struct abi1_program kiln_program_table __asm__("kiln_program") = {
    1, 1, 1, 0, 0, 0, RUN};
