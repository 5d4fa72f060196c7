// pow: exp(y log|x|) with log and product carried beyond the last bit, then the sign and the special cases of
// C's pow.
#pragma once

#include "compiler_core/math/double2.h"
#include "compiler_core/math/exp.h"
#include "compiler_core/math/log.h"

namespace kiln::math {

inline constexpr float roundingOf(float) {
  return kRoundF32;
}
inline constexpr double roundingOf(double) {
  return kRoundF64;
}

// `r` is exp(y log|x|) for finite x and y; T is F32 or F64 of L, E its element type.
template <class L, class E, class T>
T powSpecial(T x, T y, T r, T (*splat)(E)) {
  constexpr E kInf = static_cast<E>(__builtin_inf());
  const E round = roundingOf(E{});
  const T ax = L::abs(x), ay = L::abs(y);
  const T one = splat(1), zero = splat(0), inf = splat(kInf), nan = splat(static_cast<E>(kNanF32));
  // Integers: anything at or above 2^23 (2^52) is one; at or above 2^24 (2^53) an even one.
  const E limit = round * static_cast<E>(2) / static_cast<E>(3);  // 2^23, 2^52
  const T half = ay * static_cast<E>(0.5);
  const T roundedY = (ay + round) - round, roundedHalf = (half + round) - round;
  const auto integral = (ay >= limit) | (roundedY == ay);
  const auto odd = integral & (ay < limit + limit) & (roundedHalf != half);

  r = L::select(ax == inf, L::select(y > zero, inf, zero), r);
  r = L::select(ax == zero, L::select(y > zero, zero, inf), r);
  const T toInfinity = L::select((ax > one) == (y > zero), inf, zero);
  r = L::select(ay == inf, L::select(ax == one, one, toInfinity), r);
  const auto negative = L::copysign(one, x) < zero;
  r = L::select(negative & odd, -r, r);
  const auto noRealResult = (x < zero) & (ax < inf) & !integral;
  r = L::select(noRealResult | (x != x) | (y != y), nan, r);
  return L::select((y == zero) | (x == one), one, r);
}

template <class L>
typename L::F32 pow(typename L::F32 x, typename L::F32 y) {
  using D = typename L::F64;
  const auto ax = L::abs(x);
  const auto usable = (ax > 0.0f) & (ax < kInfF32);
  const D w = logNarrow<L>(L::widen(L::select(usable, ax, L::f32(1.0f)))) * L::widen(y);
  const D r = expReduced<L>(clampForExp<L>(w), L::f64(0.0), kExpNarrow);
  return powSpecial<L, float>(x, y, L::narrow(r), &L::f32);
}

// log of a positive, finite x to about 65 bits relative to the result.
template <class L>
Double2<L> logDouble2(typename L::F64 x) {
  using D = typename L::F64;
  D extra, n, m;
  splitExponent<L>(normalise<L>(x, extra), n, m);
  n = n + extra;
  // s = f / g with g = m + 1 in two parts; the remainder of the division gives the low part of s.
  const D f = m - 1.0;
  const Double2<L> g = fastTwoSum<L>(L::f64(2.0), f);
  const D sHigh = f / g.high;
  const D remainder = L::fma(-sHigh, g.high, f) - sHigh * g.low;
  const Double2<L> s = {sHigh, remainder / g.high};
  const Double2<L> z = multiply<L>(s, s);
  // 2 atanh(s) = 2s + s z (2/3 + z R(z)): the first terms in two parts, R in one.
  constexpr double kTwoThirdsHigh = 0x1.5555555555555p-1, kTwoThirdsLow = 0x1.5555555555555p-55;
  const D third = z.high * polynomial<L>(z.high, kLogSecond);
  Double2<L> c = fastTwoSum<L>(L::f64(kTwoThirdsHigh), third);
  c.low = c.low + kTwoThirdsLow;
  const Double2<L> cubic = multiply<L>(multiply<L>(s, z), c);
  Double2<L> sum = fastTwoSum<L>(s.high + s.high, cubic.high);
  sum.low = sum.low + (s.low + s.low + cubic.low);
  // n ln2: the first product is exact.
  Double2<L> total = fastTwoSum<L>(n * kLn2HighF64, sum.high);
  total.low = total.low + (sum.low + n * kLn2LowF64);
  return fastTwoSum<L>(total.high, total.low);
}

template <class L>
typename L::F64 pow(typename L::F64 x, typename L::F64 y) {
  using D = typename L::F64;
  const D ax = L::abs(x);
  const auto usable = (ax > 0.0) & (ax < kInfF64);
  const Double2<L> w = logDouble2<L>(L::select(usable, ax, L::f64(1.0)));
  const D p = w.high * y;
  const D tail = L::fma(w.high, y, -p) + w.low * y;
  const auto inRange = (p < 710.0) & (p > -746.0);
  const D r = expReduced<L>(clampForExp<L>(p), L::select(inRange, tail, L::f64(0.0)), kExpF64);
  return powSpecial<L, double>(x, y, r, &L::f64);
}

}  // namespace kiln::math
