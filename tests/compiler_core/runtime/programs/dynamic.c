/* A program of two profiles as code generation makes it, on x: f32[N,4] and k: i64[1]:
 *   y: f32[N,k[0]]              y[i][j] = x[i][0] * (j + 1)
 *   half: f32[(N+1) floordiv 2] half[i] = x[2 i][1]
 *   total: f32                  the sum of x
 * and with FOUND, whose shape depends on values,
 *   found: i64[? <= N]          the rows whose first element is positive
 * The first element -1 stands for a bound that was exceeded, -2 for an invalid value. */
#include "compiler_core/runtime/program_abi.h"

#ifndef SMALL
#define SMALL 8
#endif
#ifndef LARGE
#define LARGE 64
#endif
enum { kColumns = 4, kSmall = SMALL, kLarge = LARGE, kSymbolN = 0, kSymbolK = 1 };

struct Env {
  const float* x;
  float *y, *copy;
  int64_t k;
};

static void shapes(const int64_t* symbols, int64_t* dims) {
  dims[0] = symbols[kSymbolN];
  dims[1] = symbols[kSymbolK];
  dims[2] = (symbols[kSymbolN] + 1) / 2;
#ifdef FOUND
  dims[3] = symbols[kSymbolN];
#endif
}

/* Writes the whole of its scratch. */
__attribute__((noinline)) static void scale_row(void* environment, int64_t task, void* scratch) {
  const struct Env* env = environment;
  float* row = scratch;
  for (int i = 0; i < kColumns; ++i) row[i] = env->copy[task * kColumns + i];
  for (int64_t j = 0; j < env->k; ++j) env->y[task * env->k + j] = row[0] * (float)(j + 1);
}

__attribute__((noinline)) static void copy_row(void* environment, int64_t task, void* scratch) {
  const struct Env* env = environment;
  for (int i = 0; i < kColumns; ++i) env->copy[task * kColumns + i] = env->x[task * kColumns + i];
}

static int32_t run(const kiln_callbacks* callbacks, void* arena, const void* const* weights,
                   const void* const* inputs, void* const* outputs, const int64_t* symbols, int64_t* dims) {
  struct Env env = {inputs[0], outputs[0], arena, symbols[kSymbolK]};
  const int64_t rows = symbols[kSymbolN];
  if (rows > 0 && env.x[0] == -1) return KILN_RUN_BOUND_EXCEEDED;
  if (rows > 0 && env.x[0] == -2) return KILN_RUN_INVALID_VALUE;
  if (rows > 0 && env.x[0] == -3) return 99;
  shapes(symbols, dims);
  callbacks->parallel_for(callbacks->user, copy_row, &env, rows);
  callbacks->parallel_for(callbacks->user, scale_row, &env, rows);
  float* half = outputs[1];
  float* total = outputs[2];
  *total = 0;
  for (int64_t i = 0; i < rows; i += 2) half[i / 2] = env.x[i * kColumns + 1];
  for (int64_t i = 0; i < rows * kColumns; ++i) *total += env.x[i];
#ifdef FOUND
  int64_t* found = outputs[3];
  dims[3] = 0;
  for (int64_t i = 0; i < rows; ++i)
    if (env.x[i * kColumns] > 0) found[dims[3]++] = i;
  if (rows > 1 && env.x[0] == -4) dims[3] = rows + 1; /* a lie */
#endif
  return KILN_RUN_OK;
}

static const kiln_profile profiles[] = {
    {kSmall * kColumns * sizeof(float), kColumns * sizeof(float), run, shapes},
    {kLarge * kColumns * sizeof(float), kColumns * sizeof(float), run, shapes}};
__attribute__((visibility("default"))) const kiln_program kiln_program_table __asm__("kiln_program") = {
#ifdef FOUND
    KILN_PROGRAM_ABI, 2, 4, 0, 2, 2, 4, 0, profiles};
#else
    KILN_PROGRAM_ABI, 2, 3, 0, 2, 2, 3, 0, profiles};
#endif
