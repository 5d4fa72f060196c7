/* A program as code generation makes it: y = 2 x + w over float[8, 256], in one task per row, and the
 * floating-point control state in which the entry and the tasks ran. Ends with status 7 when x[0] is -1234.
 * With COUNTS it counts elements of x that are kFar and -kFar, as if they were indices of two nodes.
 */
#include "compiler_core/runtime/program_abi.h"

#ifndef ABI
#define ABI KILN_PROGRAM_ABI
#endif
enum { kRows = 8, kColumns = 256, kFar = 1000000 };
#ifndef ARENA
#define ARENA (kRows * kColumns * sizeof(float))
#endif
#ifndef SCRATCH
#define SCRATCH (kColumns * sizeof(float))
#endif

struct Env {
  const float* x;
  const float* w;
  float* plan;
  unsigned* state;
};

static unsigned controlState(void) {
  unsigned state = 0;
#ifdef __x86_64__
  __asm__ volatile("stmxcsr %0" : "=m"(state));
#endif
  return state & 0xffc0u; /* without the sticky exception flags */
}

static void row(void* environment, int64_t task, void* scratch) {
  const struct Env* env = environment;
  float* doubled = scratch;
  for (int i = 0; i < kColumns; ++i) doubled[i] = 2.0f * env->x[task * kColumns + i];
  for (int i = 0; i < kColumns; ++i) env->plan[task * kColumns + i] = doubled[i] + env->w[i];
  env->state[1 + task] = controlState();
}

static void shapes(const int64_t* symbols, int64_t* output_dims) {
  output_dims[0] = kRows;
  output_dims[1] = kColumns;
  output_dims[2] = kRows + 1;
#ifdef COUNTS
  output_dims[3] = 2;
#endif
}

static int32_t run(const kiln_callbacks* callbacks, void* arena, const void* const* weights,
                   const void* const* inputs, void* const* outputs, const int64_t* symbols,
                   int64_t* output_dims) {
  struct Env env = {inputs[0], weights[0], arena, outputs[1]};
  float* y = outputs[0];
  if (env.x[0] == -1234.0f) return 7;
  shapes(symbols, output_dims);
  env.state[0] = controlState();
  callbacks->parallel_for(callbacks->user, row, &env, kRows);
  for (int i = 0; i < kRows * kColumns; ++i) y[i] = env.plan[i];
#ifdef COUNTS
  int64_t* counts = outputs[2];
  counts[0] = counts[1] = 0;
  for (int i = 0; i < kRows * kColumns; ++i) {
    counts[0] += env.x[i] == kFar;
    counts[1] += env.x[i] == -kFar;
  }
#endif
  return 0;
}

/* Where the entries of a program must not be. */
static const unsigned char data[64] = {0xc3};
static unsigned char writable[64] = {0xc3};
__attribute__((used)) static unsigned char* const keep = writable;
#ifndef RUN
#define RUN run
#endif
#ifndef SHAPES
#define SHAPES shapes
#endif

static const kiln_profile profiles[] = {
    {ARENA, SCRATCH, (kiln_run)(uintptr_t)(RUN), (kiln_shapes)(uintptr_t)(SHAPES)}};
/* PROFILES_AT: how far from their place the table says they are. */
#ifndef PROFILES_AT
#define PROFILES_AT 0
#endif
#define PROFILES (const kiln_profile*)((const char*)profiles + PROFILES_AT)
__attribute__((visibility("default"))) const kiln_program kiln_program_table __asm__("kiln_program") = {
#ifdef COUNTS
    ABI, 1, 3, 2, 1, 1, 4, 0, PROFILES};
#else
    ABI, 1, 2, 2, 1, 1, 3, 0, PROFILES};
#endif

#ifdef CONSTRUCTOR
__attribute__((constructor)) static void constructor(void) {
  __builtin_trap();
}
#endif
#ifdef DESTRUCTOR
__attribute__((destructor)) static void destructor(void) {
  __builtin_trap();
}
#endif
#ifdef INIT
__attribute__((visibility("default"))) void start(void) {
  __builtin_trap();
}
#endif
#ifdef TLS
__attribute__((visibility("default"))) _Thread_local int counter = 3;
#endif
#ifdef UNDEFINED
extern int missing_function(void);
__attribute__((visibility("default"))) int (*const pointer)(void) = missing_function;
#endif
#ifdef IFUNC
static int one(void) {
  return 1;
}
static void* resolver(void) {
  return one;
}
__attribute__((visibility("default"), ifunc("resolver"))) int chosen(void);
#endif
