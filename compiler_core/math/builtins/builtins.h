/* Shared by the builtins archive: what programs may still call after everything else is expanded or inlined.
 * One archive per architecture; the linker takes only the members a program uses. Freestanding, no state. */
#ifndef KILN_COMPILER_CORE_MATH_BUILTINS_BUILTINS_H
#define KILN_COMPILER_CORE_MATH_BUILTINS_BUILTINS_H

typedef __SIZE_TYPE__ Size;
typedef unsigned int U32;
typedef unsigned long long U64;

#define KILN_BUILTIN __attribute__((visibility("hidden")))

static inline U32 bitsOfFloat(float x) {
  U32 bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float floatOfBits(U32 bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
static inline U64 bitsOfDouble(double x) {
  U64 bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline double doubleOfBits(U64 bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

#endif
