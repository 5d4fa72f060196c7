// sin, cos and tan: reduction by pi/2 in f64 (with a low part where the result is f64), then a polynomial on
// [-pi/4, pi/4]; tan is the quotient.
#pragma once

#include "compiler_core/math/coefficients.h"
#include "compiler_core/math/double2.h"
#include "compiler_core/math/lanes.h"
#include "compiler_core/math/trig_reduce.h"

namespace kiln::math {

inline constexpr double kTwoOverPiF64 = 0x1.45f306dc9c883p-1;

template <class L>
struct ReducedAngles {
  typename L::F64 high, low;
  typename L::U64 quadrant;  // modulo 4; higher bits are noise
};

// Finite x below `limit` by multiples of pi/2 in three parts (exact while the multiple is below 2^30), lanes
// beyond it one by one. Infinite and NaN lanes give 0.
template <class L>
ReducedAngles<L> reduceAngle(typename L::F64 x, double limit) {
  using D = typename L::F64;
  const D ax = L::abs(x);
  const D c = L::select(ax < limit, x, L::f64(0.0));
  const D shifted = L::fma(c, L::f64(kTwoOverPiF64), L::f64(kRoundF64));
  const D n = shifted - kRoundF64;
  const D first = L::fma(n, L::f64(-kHalfPiHigh), c);  // exact
  const D product = n * kHalfPiMiddle;
  const D error = L::fma(n, L::f64(kHalfPiMiddle), -product);
  ReducedAngles<L> r;
  r.high = first - product;
  r.low = ((first - r.high) - product) - L::fma(n, L::f64(kHalfPiLow), error);
  r.quadrant = L::bits(shifted);
  const auto large = (ax >= limit) & (ax < kInfF64);
  if (L::any(large)) {
    for (int lane = 0; lane < L::kCount; ++lane) {
      if (!L::get(large, lane)) continue;
      const ReducedAngle angle = reduceLargeAngle(L::get(x, lane));
      L::set(r.high, lane, angle.high);
      L::set(r.low, lane, angle.low);
      L::set(r.quadrant, lane, angle.quadrant);
    }
  }
  return r;
}

// `turn` quarter turns ahead of sine: 0 is sin, 1 is cos.
template <class L>
typename L::F64 quarterTurn(typename L::U64 quadrant, typename L::F64 sine, typename L::F64 cosine,
                            unsigned long long turn) {
  const typename L::U64 q = quadrant + turn;
  const typename L::F64 v = L::select((q & 1ull) != 0ull, cosine, sine);
  return L::fromBits(L::bits(v) ^ ((q & 2ull) << 62));
}

// sin and cos of a reduced angle, enough for results in f32.
template <class L>
typename L::F64 sineNarrow(typename L::F64 r) {
  const typename L::F64 z = r * r;
  return L::fma(r * z, polynomial<L>(z, kSinNarrow), r);
}
template <class L>
typename L::F64 cosineNarrow(typename L::F64 r) {
  const typename L::F64 z = r * r;
  return L::fma(z * z, polynomial<L>(z, kCosNarrow), L::fma(z, L::f64(-0.5), L::f64(1.0)));
}

// sin and cos of high + low as a large and a small part, not yet added.
template <class L>
Double2<L> sineParts(const ReducedAngles<L>& r) {
  // sin(h + l) = h + (h^3 S(z) + l cos h), with cos h to first order.
  const typename L::F64 z = r.high * r.high;
  const typename L::F64 slope = L::fma(z, L::f64(-0.5), L::f64(1.0));
  return {r.high, L::fma(r.high * z, polynomial<L>(z, kSinF64), r.low * slope)};
}
template <class L>
Double2<L> cosineParts(const ReducedAngles<L>& r) {
  // cos(h + l) = 1 - z/2 + (z^2 C(z) - h l); what 1 - z/2 loses in rounding is added back.
  const typename L::F64 z = r.high * r.high;
  const typename L::F64 half = z * 0.5, lead = 1.0 - half;
  const typename L::F64 tail = L::fma(z * z, polynomial<L>(z, kCosF64), -r.high * r.low);
  return {lead, ((1.0 - lead) - half) + tail};
}

template <class L>
typename L::F32 sinOrCos(typename L::F32 x, unsigned long long turn) {
  using D = typename L::F64;
  const ReducedAngles<L> r = reduceAngle<L>(L::widen(x), 0x1p28);
  const D y = quarterTurn<L>(r.quadrant, sineNarrow<L>(r.high), cosineNarrow<L>(r.high), turn);
  return L::select(L::abs(x) < kInfF32, L::narrow(y), L::f32(kNanF32));
}

template <class L>
typename L::F64 sinOrCos(typename L::F64 x, unsigned long long turn) {
  using D = typename L::F64;
  const ReducedAngles<L> r = reduceAngle<L>(x, 0x1p28);
  const Double2<L> sine = sineParts<L>(r), cosine = cosineParts<L>(r);
  const D y = quarterTurn<L>(r.quadrant, sine.high + sine.low, cosine.high + cosine.low, turn);
  return L::select(L::abs(x) < kInfF64, y, L::f64(kNanF64));
}

template <class L, class T>
T sin(T x) {
  return L::select(x == 0.0f, x, sinOrCos<L>(x, 0));  // keeps the sign of zero
}
template <class L, class T>
T cos(T x) {
  return sinOrCos<L>(x, 1);
}

// tan = sin / cos in even quadrants, -cos / sin in odd ones.
template <class L>
typename L::F32 tan(typename L::F32 x) {
  using D = typename L::F64;
  const ReducedAngles<L> r = reduceAngle<L>(L::widen(x), 0x1p28);
  const auto odd = (r.quadrant & 1ull) != 0ull;
  const D sine = sineNarrow<L>(r.high), cosine = cosineNarrow<L>(r.high);
  const D y = L::select(odd, -cosine, sine) / L::select(odd, sine, cosine);
  return L::select(x == 0.0f, x, L::select(L::abs(x) < kInfF32, L::narrow(y), L::f32(kNanF32)));
}

template <class L>
typename L::F64 tan(typename L::F64 x) {
  using D = typename L::F64;
  const ReducedAngles<L> r = reduceAngle<L>(x, 0x1p28);
  const auto odd = (r.quadrant & 1ull) != 0ull;
  const Double2<L> s = sineParts<L>(r), c = cosineParts<L>(r);
  const Double2<L> sine = fastTwoSum<L>(s.high, s.low), cosine = fastTwoSum<L>(c.high, c.low);
  const D numerator = L::select(odd, -cosine.high, sine.high), n = L::select(odd, -cosine.low, sine.low);
  const D denominator = L::select(odd, sine.high, cosine.high), d = L::select(odd, sine.low, cosine.low);
  // The remainder of the division, low parts included, corrects the quotient.
  const D quotient = numerator / denominator;
  const D remainder = L::fma(-quotient, denominator, numerator) + (n - quotient * d);
  const D y = quotient + remainder / denominator;
  return L::select(x == 0.0, x, L::select(L::abs(x) < kInfF64, y, L::f64(kNanF64)));
}

}  // namespace kiln::math
