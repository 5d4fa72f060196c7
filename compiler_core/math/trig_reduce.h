// Argument reduction of large arguments for sin and cos: x = q pi/2 + (high + low), |high + low| <= pi/4.
// Method of Payne and Hanek ("Radian reduction for trigonometric functions", SIGNUM Newsletter 18, 1983):
// multiply by a window of the bits of 2/pi, dropping those that contribute multiples of 4.
#pragma once

#include "compiler_core/math/coefficients.h"
#include "compiler_core/math/wide.h"

namespace kiln::math {

inline constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0;
inline constexpr double kHalfPiMiddle = 0x1.1a62633145c07p-54;
inline constexpr double kHalfPiLow = -0x1.f1976b7ed8fbcp-110;

struct ReducedAngle {
  double high, low;
  unsigned long long quadrant;  // modulo 4
};

// x finite, |x| >= 1. Out of line: one copy per program, reached only by arguments beyond the fast path.
__attribute__((noinline)) inline ReducedAngle reduceLargeAngle(double x) {
  using wide::Wide;
  using Word = unsigned long long;
  const Word bits = __builtin_bit_cast(Word, x);
  const Word mantissa = (bits & 0xfffffffffffffu) | 0x10000000000000u;
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1075;  // |x| = mantissa * 2^exponent
  // 192 bits of 2/pi from the bit of weight 2^(1 - exponent) down; kTwoOverPi starts with 64 zero bits.
  const int start = exponent + 62;
  const int word = start / 64, shift = start % 64;
  Word window[3];
  for (int i = 0; i < 3; ++i) {
    window[i] = wide::shiftRight(Wide{kTwoOverPi[word + i], kTwoOverPi[word + i + 1]}, 64 - shift).low;
  }
  // mantissa * window modulo 2^192: two integer bits (the quadrant), then the fraction. The lowest word only
  // carries.
  const Wide low = wide::product(mantissa, window[2]);
  const Wide product =
      wide::sum(wide::sum({mantissa * window[0], 0}, wide::product(mantissa, window[1])), {0, low.high});
  Word quadrant = product.high >> 62;
  Wide fraction = wide::shiftLeft(product, 2);  // in units of 2^-128 quadrants
  fraction.low |= low.low >> 62;
  bool negative = (bits >> 63) != 0;
  if ((fraction.high >> 63) != 0) {  // nearer to the next quadrant
    fraction = wide::difference({0, 0}, fraction);
    quadrant += 1;
    negative = !negative;
  }
  if ((bits >> 63) != 0) quadrant = 0 - quadrant;
  // The fraction as a + b, 53 bits each, after the leading zeros are shifted out.
  int zeros = fraction.high != 0 ? __builtin_clzll(fraction.high) : 64;
  if (zeros == 64) zeros += fraction.low != 0 ? __builtin_clzll(fraction.low) : 63;
  fraction = wide::shiftLeft(fraction, zeros);
  const double unit = __builtin_bit_cast(double, static_cast<Word>(1023 - 53 - zeros) << 52);
  const double a = static_cast<double>(static_cast<long long>(fraction.high >> 11)) * unit;
  const double b =
      static_cast<double>(static_cast<long long>(wide::shiftRight(fraction, 22).low & 0x1fffffffffffffu)) *
      unit * 0x1p-53;
  double high = a * kHalfPiHigh;
  double tail = __builtin_fma(a, kHalfPiHigh, -high) + (a * kHalfPiMiddle + b * kHalfPiHigh);
  if (negative) {
    high = -high;
    tail = -tail;
  }
  const double sum = high + tail;
  return {sum, tail - (sum - high), quadrant & 3};
}

}  // namespace kiln::math
