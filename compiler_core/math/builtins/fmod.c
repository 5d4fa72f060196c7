/* fmod and fmodf: exact, by long division of the mantissas, one exponent step at a time. */
#include "compiler_core/math/builtins/builtins.h"

/* Bits: the unsigned type; M: mantissa bits; both arguments as magnitudes, neither NaN, x finite, y not 0, x
 * >= y. */
#define DEFINE_REMAINDER(name, Bits, M)                                                        \
  static Bits name(Bits x, Bits y) {                                                           \
    const Bits one = (Bits)1 << M, fraction = one - 1;                                         \
    int ex = (int)(x >> M), ey = (int)(y >> M);                                                \
    Bits mx = ex != 0 ? ((x & fraction) | one) : x, my = ey != 0 ? ((y & fraction) | one) : y; \
    if (ex == 0) ex = 1;                                                                       \
    if (ey == 0) ey = 1;                                                                       \
    for (; ex > ey; --ex) {                                                                    \
      if (mx >= my) mx -= my;                                                                  \
      mx <<= 1;                                                                                \
    }                                                                                          \
    if (mx >= my) mx -= my;                                                                    \
    if (mx == 0) return 0;                                                                     \
    for (; mx < one && ex > 1; --ex) mx <<= 1;                                                 \
    return mx < one ? mx : (((Bits)ex << M) | (mx & fraction));                                \
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
