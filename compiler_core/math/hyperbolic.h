// sinh, cosh and their inverses with that of tanh: exponentials and logarithms of arguments in two parts, a
// series where a difference would cancel.
#pragma once

#include "compiler_core/math/double2.h"
#include "compiler_core/math/exp.h"
#include "compiler_core/math/log.h"

namespace kiln::math {

// (sinh(a)/a - 1) / a^2 in a^2: 1/3!, 1/5!, ... , 1/21!. What follows is below 2^-73 for a <= 1.
inline constexpr double kSinhSeries[] = {1.0 / 6,
                                         1.0 / 120,
                                         1.0 / 5040,
                                         1.0 / 362880,
                                         1.0 / 39916800,
                                         1.0 / 6227020800,
                                         1.0 / 1307674368000,
                                         1.0 / 355687428096000,
                                         1.0 / 121645100408832000,
                                         1.0 / 51090942171709440000.0};

// exp(a)/2 of a >= 0; infinite from 711 on, where cosh and sinh are.
template <class L>
typename L::F64 halfExp(typename L::F64 a) {
  return expReduced<L>(L::select(a < 711.0, a, L::f64(711.0)), L::f64(0.0), kExpF64, -1);
}

template <class L>
typename L::F32 sinh(typename L::F32 x) {
  using D = typename L::F64;
  const D a = L::abs(L::widen(x));
  const D e = expm1Reduced<L>(L::select(a < 100.0, a, L::f64(100.0)), kExpNarrow);
  const D y = 0.5 * (e + e / (e + 1.0));
  return L::select(x == x, L::copysign(L::narrow(y), x), L::f32(kNanF32));
}

template <class L>
typename L::F64 sinh(typename L::F64 x) {
  using D = typename L::F64;
  const D a = L::abs(x), u = a * a, h = halfExp<L>(a);
  const D small = L::fma(a * u, polynomial<L>(u, kSinhSeries), a);
  const D y = L::copysign(L::select(a < 1.0, small, h - 0.25 / h), x);
  return L::select(x == x, y, L::f64(kNanF64));
}

template <class L>
typename L::F32 cosh(typename L::F32 x) {
  using D = typename L::F64;
  const D a = L::abs(L::widen(x));
  const D h = expReduced<L>(L::select(a < 100.0, a, L::f64(100.0)), L::f64(0.0), kExpNarrow, -1);
  return L::select(x == x, L::narrow(h + 0.25 / h), L::f32(kNanF32));
}

template <class L>
typename L::F64 cosh(typename L::F64 x) {
  const typename L::F64 h = halfExp<L>(L::abs(x));
  return L::select(x == x, h + 0.25 / h, L::f64(kNanF64));
}

// Beyond this the square of an argument may overflow, and log(2x) is exact to the last bit.
inline constexpr double kSquareLimit = 0x1p500;

// log1p(w), or log1p(x) + ln2 where x is beyond kSquareLimit.
template <class L>
typename L::F64 log1pOrLogTwice(typename L::F64 x, Double2<L> w) {
  using D = typename L::F64;
  const auto large = x >= kSquareLimit;
  const D y = log1pReduced<L>(L::select(large, x, w.high), L::select(large, L::f64(0.0), w.low));
  return y + L::select(large, L::f64(kLn2HighF64 + kLn2LowF64), L::f64(0.0));
}

// asinh(a) = log1p(a + a^2 / (1 + sqrt(1 + a^2))).
template <class L>
typename L::F32 asinh(typename L::F32 x) {
  using D = typename L::F64;
  const auto finite = L::abs(x) < kInfF32;
  const D a = L::abs(L::widen(L::select(finite, x, L::f32(1.0f))));
  const D square = a * a;
  const D y = log1pNarrow<L>(a + square / (1.0 + L::sqrt(square + 1.0)));
  return L::select(finite, L::copysign(L::narrow(y), x), L::select(x == x, x, L::f32(kNanF32)));
}

template <class L>
typename L::F64 asinh(typename L::F64 x) {
  using D = typename L::F64;
  const auto finite = L::abs(x) < kInfF64;
  const D a = L::select(finite, L::abs(x), L::f64(1.0));
  const D c = L::select(a < kSquareLimit, a, L::f64(1.0)), square = c * c;
  const Double2<L> w = fastTwoSum<L>(c, square / (1.0 + L::sqrt(square + 1.0)));
  const D y = L::copysign(log1pOrLogTwice<L>(a, w), x);
  return L::select(finite, y, L::select(x == x, x, L::f64(kNanF64)));
}

// acosh(x) = log1p(t + sqrt(t^2 + 2t)), t = x - 1.
template <class L>
typename L::F32 acosh(typename L::F32 x) {
  using D = typename L::F64;
  const auto usable = (x >= 1.0f) & (x < kInfF32);
  const D t = L::widen(L::select(usable, x, L::f32(1.0f))) - 1.0;
  const D y = log1pNarrow<L>(t + L::sqrt(L::fma(t, t, t + t)));
  return L::select(usable, L::narrow(y), L::select(x == kInfF32, x, L::f32(kNanF32)));
}

template <class L>
typename L::F64 acosh(typename L::F64 x) {
  using D = typename L::F64;
  const auto usable = (x >= 1.0) & (x < kInfF64);
  const D c = L::select(usable, x, L::f64(1.0));
  const Double2<L> t = fastTwoSum<L>(L::select(c < kSquareLimit, c, L::f64(1.0)), L::f64(-1.0));
  const D square = L::fma(t.high, t.high, t.high + t.high), root = L::sqrt(square);
  const D rest = L::fma(-root, root, square) / (root + root);
  Double2<L> w = fastTwoSum<L>(root, t.high);
  w.low = w.low + (t.low + L::select(root > 0.0, rest, L::f64(0.0)));
  return L::select(usable, log1pOrLogTwice<L>(c, w), L::select(x == kInfF64, x, L::f64(kNanF64)));
}

// atanh(a) = log1p(2a / (1 - a)) / 2.
template <class L>
typename L::F32 atanh(typename L::F32 x) {
  using D = typename L::F64;
  using F = typename L::F32;
  const F a = L::abs(x);
  const D c = L::widen(L::select(a < 1.0f, a, L::f32(0.0f)));
  const F y = L::narrow(0.5 * log1pNarrow<L>((c + c) / (1.0 - c)));
  const F edge = L::select(a == 1.0f, L::f32(kInfF32), L::f32(kNanF32));
  return L::select(a <= 1.0f, L::copysign(L::select(a < 1.0f, y, edge), x), edge);
}

template <class L>
typename L::F64 atanh(typename L::F64 x) {
  using D = typename L::F64;
  const D a = L::abs(x), c = L::select(a < 1.0, a, L::f64(0.0));
  const Double2<L> d = fastTwoSum<L>(L::f64(1.0), -c);
  const D quotient = (c + c) / d.high;
  const D rest = (L::fma(-quotient, d.high, c + c) - quotient * d.low) / d.high;
  const D y = 0.5 * log1pReduced<L>(quotient, rest);
  const D edge = L::select(a == 1.0, L::f64(kInfF64), L::f64(kNanF64));
  return L::select(a <= 1.0, L::copysign(L::select(a < 1.0, y, edge), x), edge);
}

}  // namespace kiln::math
