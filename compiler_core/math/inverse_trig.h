// asin, acos and atan: the angle of a point (den, num) of the first quadrant. It is turned by one of five
// fixed angles so that |t| <= 0.205 is left, then atan(t) = t + t^3 A(t^2) with the terms of Taylor's series,
// which converges fast enough there.
#pragma once

#include "compiler_core/math/double2.h"
#include "compiler_core/math/lanes.h"

namespace kiln::math {

inline constexpr double kAtanSeries[] = {-1.0 / 3,  1.0 / 5,  -1.0 / 7,  1.0 / 9,  -1.0 / 11, 1.0 / 13,
                                         -1.0 / 15, 1.0 / 17, -1.0 / 19, 1.0 / 21, -1.0 / 23};
inline constexpr double kAtanNarrow[] = {-1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9, -1.0 / 11, 1.0 / 13};

inline constexpr double kPiOver2High = 0x1.921fb54442d18p+0, kPiOver2Low = 0x1.1a62633145c07p-54;

// atan(0), atan(13/32), atan(1), atan(5/2), pi/2, each in two parts, and the slopes up to which each serves.
struct AtanAnchor {
  double slope, high, low, until;
};
inline constexpr AtanAnchor kAtanAnchors[] = {
    {0.0, 0.0, 0.0, 0.1953},
    {0.40625, 0x1.8b24d394a1b25p-2, 0x1.b6d0ba3748fa8p-56, 0.6634},
    {1.0, 0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55, 1.5145},
    {2.5, 0x1.30b6d796a4da8p+0, 0x1.6254cb03bb199p-54, 5.19},
};

// A turned point: its tangent t and the angle it was turned by.
template <class L>
struct TurnedAngle {
  typename L::F64 t, high, low;
};

// num, den >= 0 and finite, not both 0.
template <class L>
TurnedAngle<L> turnAngle(typename L::F64 num, typename L::F64 den) {
  using D = typename L::F64;
  // The last anchor, pi/2, first: t = -den / num.
  D n = -den, d = num;
  D high = L::f64(kPiOver2High), low = L::f64(kPiOver2Low);
#pragma GCC unroll 4
  for (int i = 3; i >= 0; --i) {
    const AtanAnchor& a = kAtanAnchors[i];
    const auto below = num < den * a.until;
    n = L::select(below, L::fma(den, L::f64(-a.slope), num), n);
    d = L::select(below, L::fma(num, L::f64(a.slope), den), d);
    high = L::select(below, L::f64(a.high), high);
    low = L::select(below, L::f64(a.low), low);
  }
  return {n / d, high, low};
}

// The angle of (den, num), enough for results in f32.
template <class L>
typename L::F64 angleNarrow(typename L::F64 num, typename L::F64 den) {
  const TurnedAngle<L> a = turnAngle<L>(num, den);
  const typename L::F64 z = a.t * a.t;
  return a.high + L::fma(a.t * z, polynomial<L>(z, kAtanNarrow), a.t);
}

// The angle of (den, num) plus a small `correction`.
template <class L>
Double2<L> angle(typename L::F64 num, typename L::F64 den, typename L::F64 correction) {
  const TurnedAngle<L> a = turnAngle<L>(num, den);
  const typename L::F64 z = a.t * a.t;
  const Double2<L> sum = fastTwoSum<L>(a.high, a.t);
  return {sum.high, L::fma(a.t * z, polynomial<L>(z, kAtanSeries), sum.low + (a.low + correction))};
}

template <class L>
typename L::F32 atan(typename L::F32 x) {
  using D = typename L::F64;
  const D a = L::abs(L::widen(x));
  const D y = angleNarrow<L>(L::select(a < 1e60, a, L::f64(1e60)), L::f64(1.0));
  return L::select(x == x, L::copysign(L::narrow(y), x), L::f32(kNanF32));
}

template <class L>
typename L::F64 atan(typename L::F64 x) {
  using D = typename L::F64;
  const D a = L::abs(x);
  const Double2<L> y = angle<L>(L::select(a < 1e300, a, L::f64(1e300)), L::f64(1.0), L::f64(0.0));
  return L::select(x == x, L::copysign(y.high + y.low, x), L::f64(kNanF64));
}

// sqrt(1 - a^2) of a in [0, 1] and what its last bit leaves out.
template <class L>
Double2<L> otherLeg(typename L::F64 a) {
  using D = typename L::F64;
  const D square = a * a, squareLow = L::fma(a, a, -square);
  const Double2<L> rest = fastTwoSum<L>(L::f64(1.0), -square);
  const Double2<L> p = fastTwoSum<L>(rest.high, rest.low - squareLow);
  const D root = L::sqrt(p.high);
  const D low = (L::fma(-root, root, p.high) + p.low) / (root + root);
  return {root, L::select(root > 0.0, low, L::f64(0.0))};
}

template <class L>
typename L::F32 asin(typename L::F32 x) {
  using D = typename L::F64;
  const D a = L::abs(L::widen(x));
  const D c = L::select(a <= 1.0, a, L::f64(0.0));
  const D y = angleNarrow<L>(c, L::sqrt(L::fma(-c, c, L::f64(1.0))));
  return L::select(L::abs(x) <= 1.0f, L::copysign(L::narrow(y), x), L::f32(kNanF32));
}

template <class L>
typename L::F64 asin(typename L::F64 x) {
  using D = typename L::F64;
  const D a = L::abs(x);
  const auto usable = a <= 1.0;
  const D c = L::select(usable, a, L::f64(0.0));
  // (root, c) has length 1: a change `low` of the root turns it by -c low.
  const Double2<L> root = otherLeg<L>(c);
  const Double2<L> y = angle<L>(c, root.high, -c * root.low);
  return L::select(usable, L::copysign(y.high + y.low, x), L::f64(kNanF64));
}

template <class L>
typename L::F32 acos(typename L::F32 x) {
  using D = typename L::F64;
  const D wide = L::widen(x), a = L::abs(wide);
  const D c = L::select(a <= 1.0, a, L::f64(0.0));
  const D y = angleNarrow<L>(L::sqrt(L::fma(-c, c, L::f64(1.0))), c);
  const D signedAngle = L::select(wide < 0.0, 2.0 * kPiOver2High - y, y);
  return L::select(L::abs(x) <= 1.0f, L::narrow(signedAngle), L::f32(kNanF32));
}

template <class L>
typename L::F64 acos(typename L::F64 x) {
  using D = typename L::F64;
  const D a = L::abs(x);
  const auto usable = a <= 1.0;
  const D c = L::select(usable, a, L::f64(0.0));
  const Double2<L> root = otherLeg<L>(c);
  const Double2<L> y = angle<L>(root.high, c, c * root.low);
  const Double2<L> flipped = fastTwoSum<L>(L::f64(2.0 * kPiOver2High), -y.high);
  const D supplement = flipped.high + ((2.0 * kPiOver2Low - y.low) + flipped.low);
  return L::select(usable, L::select(x < 0.0, supplement, y.high + y.low), L::f64(kNanF64));
}

}  // namespace kiln::math
