// log: x = 2^n m with m in [sqrt(1/2), sqrt(2)), log(m) = 2 atanh(s) with s = (m - 1)/(m + 1).
#pragma once

#include "compiler_core/math/coefficients.h"
#include "compiler_core/math/exp.h"
#include "compiler_core/math/lanes.h"

namespace kiln::math {

// n as a double and m of a positive, normal x.
template <class L>
void splitExponent(typename L::F64 x, typename L::F64& n, typename L::F64& m) {
  constexpr unsigned long long kSqrtHalf = 0x3fe6a09e667f3bcdu;
  const typename L::U64 bits = L::bits(x);
  // The exponent is biased by 2048 while shifted, so that the subtraction never goes below zero.
  const typename L::U64 e = (bits - kSqrtHalf + (2048ull << 52)) >> 52;
  m = L::fromBits(bits - (e << 52) + (2048ull << 52));
  n = L::fromBits(e + kRoundBitsF64) - (kRoundF64 + 2048.0);
}

// n ln2 + log(1 + f) to about 50 bits: enough for results in f32.
template <class L>
typename L::F64 logNarrowOf(typename L::F64 n, typename L::F64 f, typename L::F64 fPlus2) {
  using D = typename L::F64;
  const D s = f / fPlus2, z = s * s;
  const D tail = L::fma(s * z, polynomial<L>(z, kLogNarrow), n * kLn2LowF64);
  return L::fma(n, L::f64(kLn2HighF64), L::fma(s, L::f64(2.0), tail));
}

// log of a positive, normal x.
template <class L>
typename L::F64 logNarrow(typename L::F64 x) {
  typename L::F64 n, m;
  splitExponent<L>(x, n, m);
  return logNarrowOf<L>(n, m - 1.0, m + 1.0);
}

template <class L>
typename L::F32 log(typename L::F32 x) {
  using F = typename L::F32;
  const auto usable = (x > 0.0f) & (x < kInfF32);
  // Every positive f32, subnormal ones too, is a normal f64.
  const F y = L::narrow(logNarrow<L>(L::widen(L::select(usable, x, L::f32(1.0f)))));
  const F edge = L::select(x == 0.0f, L::f32(-kInfF32), L::select(x > 0.0f, x, L::f32(kNanF32)));
  return L::select(usable, y, edge);
}

// A positive x made normal: multiplied by 2^54 if subnormal; `n` is what to add to its exponent.
template <class L>
typename L::F64 normalise(typename L::F64 x, typename L::F64& n) {
  const auto tiny = x < 0x1p-1022;
  n = L::select(tiny, L::f64(-54.0), L::f64(0.0));
  return L::select(tiny, x * 0x1p54, x);
}

template <class L>
typename L::F64 log(typename L::F64 x) {
  using D = typename L::F64;
  const auto usable = (x > 0.0) & (x < kInfF64);
  D extra, n, m;
  splitExponent<L>(normalise<L>(L::select(usable, x, L::f64(1.0)), extra), n, m);
  n = n + extra;
  // With f = m - 1 (exact): 2s = f - s f and s f = f^2/2 - s f^2/2, so log(m) = f - (f^2/2 - s (f^2/2 + z
  // L(z))).
  const D f = m - 1.0, s = f / (m + 1.0), z = s * s, half = f * f * 0.5;
  const D tail = L::fma(s, L::fma(z, polynomial<L>(z, kLogF64), half), n * kLn2LowF64);
  const D y = L::fma(n, L::f64(kLn2HighF64), f - (half - tail));
  const D edge = L::select(x == 0.0, L::f64(-kInfF64), L::select(x > 0.0, x, L::f64(kNanF64)));
  return L::select(usable, y, edge);
}

// log(1 + x) of a finite x > -1 to about 50 bits.
template <class L>
typename L::F64 log1pNarrow(typename L::F64 x) {
  using D = typename L::F64;
  D n, m;
  splitExponent<L>(1.0 + x, n, m);
  const D f = L::select(n == 0.0, x, m - 1.0);  // where 1 + x needs no scaling nothing is rounded away
  return logNarrowOf<L>(n, f, f + 2.0);
}

// log(1 + x + tail) of a finite x > -1; `tail` corrects x beyond its last bit.
template <class L>
typename L::F64 log1pReduced(typename L::F64 x, typename L::F64 tail) {
  using D = typename L::F64;
  const D u = 1.0 + x;
  const D lost = L::select(x < 1.0, x - (u - 1.0), 1.0 - (u - x));  // exact
  D n, m;
  splitExponent<L>(u, n, m);
  const auto unscaled = n == 0.0;
  const D f = L::select(unscaled, x, m - 1.0);
  const D correction = (L::select(unscaled, L::f64(0.0), lost) + tail) / u;
  const D s = f / (f + 2.0), z = s * s, half = f * f * 0.5;
  const D rest =
      L::fma(s, L::fma(z, polynomial<L>(z, kLogF64), half), L::fma(n, L::f64(kLn2LowF64), correction));
  return L::fma(n, L::f64(kLn2HighF64), f - (half - rest));
}

template <class L>
typename L::F32 log1p(typename L::F32 x) {
  using F = typename L::F32;
  const auto usable = (x > -1.0f) & (x < kInfF32);
  const F y = L::narrow(log1pNarrow<L>(L::widen(L::select(usable, x, L::f32(1.0f)))));
  const F edge = L::select(x == -1.0f, L::f32(-kInfF32), L::select(x > 0.0f, x, L::f32(kNanF32)));
  return L::select(x == 0.0f, x, L::select(usable, y, edge));
}

template <class L>
typename L::F64 log1p(typename L::F64 x) {
  using D = typename L::F64;
  const auto usable = (x > -1.0) & (x < kInfF64);
  const D y = log1pReduced<L>(L::select(usable, x, L::f64(1.0)), L::f64(0.0));
  const D edge = L::select(x == -1.0, L::f64(-kInfF64), L::select(x > 0.0, x, L::f64(kNanF64)));
  return L::select(x == 0.0, x, L::select(usable, y, edge));
}

}  // namespace kiln::math
