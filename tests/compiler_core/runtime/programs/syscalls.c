/* A program that lies: it asks the kernel for things that no program of kiln-cc asks for, and says what it got.
 *   y: f32[4]  results of open("/etc/passwd"), socket(), kill(1, 0) and execve() of a shell; negative: an errno
 * With CRASH it then writes where nothing is. */
#include "compiler_core/runtime/program_abi.h"

#ifdef __x86_64__
static long ask(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
#else
static long ask(long number, long a, long b, long c) {
  return -38;
}
#endif

static void shapes(const int64_t* symbols, int64_t* output_dims) {
  output_dims[0] = 4;
}

static int32_t run(const kiln_callbacks* callbacks, void* arena, const void* const* weights,
                   const void* const* inputs, void* const* outputs, const int64_t* symbols,
                   int64_t* output_dims) {
  enum { kOpen = 2, kSocket = 41, kKill = 62, kExecve = 59 };
  float* y = outputs[0];
  static const char passwd[] = "/etc/passwd", nowhere[] = "/nowhere/sh";
  y[0] = (float)ask(kOpen, (long)passwd, 0, 0);
  y[1] = (float)ask(kSocket, 2, 1, 0);
  y[2] = (float)ask(kKill, 1, 0, 0);
  y[3] = (float)ask(kExecve, (long)nowhere, 0, 0);
  shapes(symbols, output_dims);
#ifdef CRASH
  *(volatile int*)((char*)0 + 64) = 1;
#endif
  return KILN_RUN_OK;
}

static const kiln_profile profiles[] = {{0, 0, run, shapes}};
__attribute__((visibility("default"))) const kiln_program kiln_program_table __asm__("kiln_program") = {
    KILN_PROGRAM_ABI, 1, 1, 0, 0, 1, 1, 0, profiles};
