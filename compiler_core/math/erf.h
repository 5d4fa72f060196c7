// erf: x + x P(x^2) up to 1, above it 1 - exp(-x^2) Q(1/(|x| + 2)), and 1 where that rounds to 1.
#pragma once

#include "compiler_core/math/exp.h"

namespace kiln::math {

template <class L>
typename L::F32 erf(typename L::F32 x) {
  using F = typename L::F32;
  const F a = L::abs(x);
  const F small = L::fma(a, polynomial<L>(a * a, kErfF32), a);
  const F c = L::select(a < 4.0f, a, L::f32(4.0f));
  const F t = L::fma(1.0f / (c + 2.0f), L::f32(12.0f), L::f32(-3.0f));
  const F large = L::fma(-expInRange<L>(-c * c), polynomial<L>(t, kErfcF32), L::f32(1.0f));
  const F y = L::copysign(L::select(a < 1.0f, small, large), x);
  return L::select(x == x, y, L::f32(kNanF32));
}

template <class L>
typename L::F64 erf(typename L::F64 x) {
  using D = typename L::F64;
  const D a = L::abs(x);
  const D small = L::fma(a, polynomial<L>(a * a, kErfF64), a);
  const D c = L::select(a < 6.0, a, L::f64(6.0));
  const D t = L::fma(1.0 / (c + 2.0), L::f64(9.6), L::f64(-2.2));
  const D large = L::fma(-exp<L>(-c * c), polynomial<L>(t, kErfcF64), L::f64(1.0));
  const D y = L::copysign(L::select(a < 1.0, small, large), x);
  return L::select(x == x, y, L::f64(kNanF64));
}

}  // namespace kiln::math
