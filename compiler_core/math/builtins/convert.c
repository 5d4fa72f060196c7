/* Narrowing conversions to 16-bit floats that the targets have no instruction for. Names and types as the
 * compiler calls them (compiler-rt's naming). Ties go to even; a NaN stays a quiet NaN. */
#include "compiler_core/math/builtins/builtins.h"

KILN_BUILTIN __bf16 __truncsfbf2(float x) {
  const U32 bits = bitsOfFloat(x);
  unsigned short half;
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    half = (unsigned short)((bits >> 16) | 0x40u);
  } else {
    half = (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
  __bf16 result;
  __builtin_memcpy(&result, &half, sizeof result);
  return result;
}

/* double to float rounded to odd: if inexact, the neighbour with an odd last bit. Rounding that once more to
 * fewer bits gives what a single rounding would have given. */
static float roundToOdd(double x) {
  const float nearest = (float)x;
  const U32 bits = bitsOfFloat(nearest), magnitude = bits & 0x7fffffffu;
  if (x != x || (double)nearest == x) return nearest;
  if (magnitude >= 0x7f800000u) return floatOfBits((bits & 0x80000000u) | 0x7f7fffffu);
  const int tooFar = __builtin_fabs((double)nearest) > __builtin_fabs(x);
  return floatOfBits((bits - (U32)tooFar) | 1u);
}

KILN_BUILTIN __bf16 __truncdfbf2(double x) {
  return __truncsfbf2(roundToOdd(x));
}
KILN_BUILTIN _Float16 __truncdfhf2(double x) {
  return (_Float16)roundToOdd(x);
}
