// exp: x = n ln2 + r with |r| <= ln2/2, exp(r) = 1 + r + r^2 P(r), then scaled by 2^n in two exact steps, so
// that results near overflow and in the subnormal range are rounded once.
#pragma once

#include "compiler_core/math/coefficients.h"
#include "compiler_core/math/lanes.h"

namespace kiln::math {

// ln2 in two parts; the first has trailing zeros enough for an exact product with n.
inline constexpr float kLn2HighF32 = 0x1.62e4p-1f;
inline constexpr float kLn2LowF32 = 0x1.7f7d1cp-20f;
inline constexpr double kLn2HighF64 = 0x1.62e42feep-1;
inline constexpr double kLn2LowF64 = 0x1.a39ef35793c76p-33;
inline constexpr double kLog2E = 0x1.71547652b82fep+0;

// exp(x) for x in [-105, 89]; of a NaN any value.
template <class L>
typename L::F32 expInRange(typename L::F32 x) {
  using F = typename L::F32;
  const F shifted = L::fma(x, L::f32(static_cast<float>(kLog2E)), L::f32(kRoundF32));
  const F n = shifted - kRoundF32;
  F r = L::fma(n, L::f32(-kLn2HighF32), x);
  r = L::fma(n, L::f32(-kLn2LowF32), r);
  const F y = L::fma(r * r, polynomial<L>(r, kExpF32), r) + 1.0f;
  if constexpr (requires { L::scaled(y, n); }) {
    return L::scaled(y, n);
  } else {
    // n in two halves, each a power of two that is a normal number.
    const typename L::U32 k = L::bits(shifted) - kRoundBitsF32 + 256u;  // n + 256 >= 0
    const typename L::U32 h = k >> 1;
    const F a = L::fromBits((h - 128u + 127u) << 23), b = L::fromBits((k - h - 128u + 127u) << 23);
    return y * a * b;
  }
}

template <class L>
typename L::F32 exp(typename L::F32 x) {
  using F = typename L::F32;
  F c = L::select(x > 89.0f, L::f32(89.0f), x);
  c = L::select(c >= -105.0f, c, L::f32(-105.0f));  // a NaN lands here and is replaced at the end
  return L::select(x == x, expInRange<L>(c), L::f32(kNanF32));
}

// x + tail = n ln2 + r + rest, |r| <= ln2/2 and `rest` below its last bit.
template <class L>
struct ExpParts {
  typename L::F64 n, r, rest;
  typename L::U64 bits;  // n + kRoundBitsF64
};

template <class L>
ExpParts<L> reduceForExp(typename L::F64 x, typename L::F64 tail) {
  using D = typename L::F64;
  const D shifted = L::fma(x, L::f64(kLog2E), L::f64(kRoundF64));
  const D n = shifted - kRoundF64;
  const D first = L::fma(n, L::f64(-kLn2HighF64), x);  // exact
  const D second = L::fma(n, L::f64(-kLn2LowF64), first);
  const D r = second + tail;
  const D rest = L::fma(n, L::f64(-kLn2LowF64), first - second) + (tail - (r - second));
  return {n, r, rest, L::bits(shifted)};
}

// y 2^(n + extra), rounded at most once; n as in ExpParts::bits, |n + extra| <= 2040.
template <class L>
typename L::F64 scaleByPower(typename L::F64 y, typename L::U64 bits, long long extra = 0) {
  const typename L::U64 k = bits - kRoundBitsF64 + static_cast<unsigned long long>(2048 + extra);
  const typename L::U64 h = k >> 1;
  const typename L::F64 a = L::fromBits((h - 1024u + 1023u) << 52);
  const typename L::F64 b = L::fromBits((k - h - 1024u + 1023u) << 52);
  return y * a * b;
}

// exp(x + tail) 2^extra in f64 with x in [-746, 712]; `tail` corrects x beyond its last bit. What the
// reduction rounds away is carried to the end, which leaves 0.75 ulp.
template <class L, int M>
typename L::F64 expReduced(typename L::F64 x, typename L::F64 tail, const double (&p)[M],
                           long long extra = 0) {
  const ExpParts<L> e = reduceForExp<L>(x, tail);
  const typename L::F64 y = (e.r + L::fma(e.r * e.r, polynomial<L>(e.r, p), e.rest)) + 1.0;
  return scaleByPower<L>(y, e.bits, extra);
}

// x limited to where exp neither overflows nor vanishes by more than the last bit; a NaN becomes -746.
template <class L>
typename L::F64 clampForExp(typename L::F64 x) {
  const typename L::F64 c = L::select(x > 710.0, L::f64(710.0), x);
  return L::select(c >= -746.0, c, L::f64(-746.0));
}

template <class L>
typename L::F64 exp(typename L::F64 x) {
  const typename L::F64 y = expReduced<L>(clampForExp<L>(x), L::f64(0.0), kExpF64);
  return L::select(x == x, y, L::f64(kNanF64));
}

// exp(x) - 1 = 2^n ((1 - 2^-n) + (exp(r) - 1)): where n is 0 nothing cancels. x in [-60, 710].
template <class L, int M>
typename L::F64 expm1Reduced(typename L::F64 x, const double (&p)[M]) {
  using D = typename L::F64;
  const ExpParts<L> e = reduceForExp<L>(x, L::f64(0.0));
  const D inverse = L::fromBits((kRoundBitsF64 + 1023u - e.bits) << 52);  // 2^-n
  const D lead = 1.0 - L::select(e.n > 60.0, L::f64(0.0), inverse);
  const D sum = lead + e.r;
  const D lost = e.r - (sum - lead);  // exact: lead is 0 or above r
  return scaleByPower<L>(sum + (lost + L::fma(e.r * e.r, polynomial<L>(e.r, p), e.rest)), e.bits);
}

template <class L>
typename L::F64 clampForExpm1(typename L::F64 x) {
  const typename L::F64 c = L::select(x > 710.0, L::f64(710.0), x);
  return L::select(c >= -60.0, c, L::f64(-60.0));
}

template <class L>
typename L::F32 expm1(typename L::F32 x) {
  const typename L::F32 y = L::narrow(expm1Reduced<L>(clampForExpm1<L>(L::widen(x)), kExpNarrow));
  return L::select(x == 0.0f, x, L::select(x == x, y, L::f32(kNanF32)));
}

template <class L>
typename L::F64 expm1(typename L::F64 x) {
  const typename L::F64 y = expm1Reduced<L>(clampForExpm1<L>(x), kExpF64);
  return L::select(x == 0.0, x, L::select(x == x, y, L::f64(kNanF64)));
}

}  // namespace kiln::math
