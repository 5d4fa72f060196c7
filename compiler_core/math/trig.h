// sin and cos: reduction by pi/2 in f64 (with a low part where the result is f64), then a polynomial on
// [-pi/4, pi/4].
#pragma once

#include "compiler_core/math/coefficients.h"
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

template <class L>
typename L::F32 sinOrCos(typename L::F32 x, unsigned long long turn) {
  using D = typename L::F64;
  const ReducedAngles<L> r = reduceAngle<L>(L::widen(x), 0x1p28);
  const D z = r.high * r.high;
  const D sine = L::fma(r.high * z, polynomial<L>(z, kSinNarrow), r.high);
  const D cosine = L::fma(z * z, polynomial<L>(z, kCosNarrow), L::fma(z, L::f64(-0.5), L::f64(1.0)));
  return L::select(L::abs(x) < kInfF32, L::narrow(quarterTurn<L>(r.quadrant, sine, cosine, turn)),
                   L::f32(kNanF32));
}

template <class L>
typename L::F64 sinOrCos(typename L::F64 x, unsigned long long turn) {
  using D = typename L::F64;
  const ReducedAngles<L> r = reduceAngle<L>(x, 0x1p28);
  const D z = r.high * r.high;
  // sin(h + l) = h + (h^3 S(z) + l cos h), with cos h to first order.
  const D slope = L::fma(z, L::f64(-0.5), L::f64(1.0));
  const D sine = r.high + L::fma(r.high * z, polynomial<L>(z, kSinF64), r.low * slope);
  // cos(h + l) = 1 - z/2 + (z^2 C(z) - h l); what 1 - z/2 loses in rounding is added back.
  const D half = z * 0.5, lead = 1.0 - half;
  const D tail = L::fma(z * z, polynomial<L>(z, kCosF64), -r.high * r.low);
  const D cosine = lead + (((1.0 - lead) - half) + tail);
  return L::select(L::abs(x) < kInfF64, quarterTurn<L>(r.quadrant, sine, cosine, turn), L::f64(kNanF64));
}

template <class L, class T>
T sin(T x) {
  return L::select(x == 0.0f, x, sinOrCos<L>(x, 0));  // keeps the sign of zero
}
template <class L, class T>
T cos(T x) {
  return sinOrCos<L>(x, 1);
}

}  // namespace kiln::math
