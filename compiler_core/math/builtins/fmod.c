/* fmod and fmodf: exact, by long division of the mantissas, one exponent step at a time. */
#include "compiler_core/math/builtins/builtins.h"

/* Bits: the unsigned type; M: mantissa bits. Magnitudes of both arguments: finite, y not 0, x >= y. */
#define DEFINE_REMAINDER(name, Bits, M)                                      \
  /* The mantissa with its leading bit at M; `exponent` may fall below 1. */ \
  static Bits name##Split(Bits x, int* exponent) {                           \
    const Bits one = (Bits)1 << M;                                           \
    *exponent = (int)(x >> M);                                               \
    if (*exponent != 0) return (x & (one - 1)) | one;                        \
    for (*exponent = 1; x < one; --*exponent) x <<= 1;                       \
    return x;                                                                \
  }                                                                          \
  static Bits name(Bits x, Bits y) {                                         \
    const Bits one = (Bits)1 << M;                                           \
    int ex, ey;                                                              \
    Bits mx = name##Split(x, &ex);                                           \
    const Bits my = name##Split(y, &ey);                                     \
    for (; ex > ey; --ex) {                                                  \
      if (mx >= my) mx -= my;                                                \
      mx <<= 1;                                                              \
    }                                                                        \
    if (mx >= my) mx -= my;                                                  \
    if (mx == 0) return 0;                                                   \
    for (; mx < one; --ex) mx <<= 1;                                         \
    return ex > 0 ? ((Bits)ex << M) | (mx & (one - 1)) : mx >> (1 - ex);     \
  }
DEFINE_REMAINDER(remainder32, U32, 23)
DEFINE_REMAINDER(remainder64, U64, 52)

KILN_BUILTIN float fmodf(float x, float y) {
  const U32 sign = bitsOfFloat(x) & 0x80000000u, ax = bitsOfFloat(x) ^ sign,
            ay = bitsOfFloat(y) & 0x7fffffffu;
  if (ax >= 0x7f800000u || ay > 0x7f800000u || ay == 0) return __builtin_nanf("");
  return ax < ay ? x : floatOfBits(sign | remainder32(ax, ay));
}

KILN_BUILTIN double fmod(double x, double y) {
  const U64 inf = 0x7ff0000000000000u;
  const U64 sign = bitsOfDouble(x) & 0x8000000000000000u, ax = bitsOfDouble(x) ^ sign;
  const U64 ay = bitsOfDouble(y) & 0x7fffffffffffffffu;
  if (ax >= inf || ay > inf || ay == 0) return __builtin_nan("");
  return ax < ay ? x : doubleOfBits(sign | remainder64(ax, ay));
}
