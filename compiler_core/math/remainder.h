// The remainder of C's fmod, exact, by long division of the mantissas, one exponent step at a time: for
// devices, whose own remainder is made of a rounded quotient. CPUs call fmod of builtins/, which gives the
// same bits.
#pragma once

#include "compiler_core/math/lanes.h"

namespace kiln::math {

// Bits: the unsigned type; M: mantissa bits.
template <class Bits, int M>
struct LongDivision {
  static constexpr Bits kOne = Bits{1} << M;

  // The mantissa with its leading bit at M; `exponent` may fall below 1.
  static Bits split(Bits x, int& exponent) {
    exponent = static_cast<int>(x >> M);
    if (exponent != 0) return (x & (kOne - 1)) | kOne;
    for (exponent = 1; x < kOne; --exponent) x <<= 1;
    return x;
  }

  // Magnitudes: finite, y not 0, x >= y.
  static Bits remainder(Bits x, Bits y) {
    int ex, ey;
    Bits mx = split(x, ex);
    const Bits my = split(y, ey);
    for (; ex > ey; --ex) {
      if (mx >= my) mx -= my;
      mx <<= 1;
    }
    if (mx >= my) mx -= my;
    if (mx == 0) return 0;
    for (; mx < kOne; --ex) mx <<= 1;
    return ex > 0 ? (static_cast<Bits>(ex) << M) | (mx & (kOne - 1)) : mx >> (1 - ex);
  }
};

template <class L>
inline float remainder(float x, float y) {
  const unsigned sign = L::bits(x) & 0x80000000u, ax = L::bits(x) ^ sign, ay = L::bits(y) & 0x7fffffffu;
  if (ax >= 0x7f800000u || ay > 0x7f800000u || ay == 0) return L::fromBits(0x7fc00000u);
  return ax < ay ? x : L::fromBits(sign | LongDivision<unsigned, 23>::remainder(ax, ay));
}

template <class L>
inline double remainder(double x, double y) {
  using Bits = unsigned long long;
  constexpr Bits kInfinity = 0x7ff0000000000000u;
  const Bits sign = L::bits(x) & 0x8000000000000000u, ax = L::bits(x) ^ sign,
             ay = L::bits(y) & 0x7fffffffffffffffu;
  if (ax >= kInfinity || ay > kInfinity || ay == 0) return L::fromBits(Bits{0x7ff8000000000000u});
  return ax < ay ? x : L::fromBits(sign | LongDivision<Bits, 52>::remainder(ax, ay));
}

}  // namespace kiln::math
