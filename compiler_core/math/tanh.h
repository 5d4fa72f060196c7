// tanh: an odd polynomial up to sqrt(1/2), above it 1 - 2/(exp(2|x|) + 1).
#pragma once

#include "compiler_core/math/exp.h"

namespace kiln::math {

template <class L>
typename L::F32 tanh(typename L::F32 x) {
  using F = typename L::F32;
  const F a = L::abs(x), u = a * a;
  const F small = L::fma(a * u, polynomial<L>(u, kTanhF32), a);
  const F twice = a + a, c = L::select(twice > 89.0f, L::f32(89.0f), twice);
  const F large = 1.0f - 2.0f / (expInRange<L>(c) + 1.0f);
  const F y = L::copysign(L::select(u < 0.5f, small, large), x);
  return L::select(x == x, y, L::f32(kNanF32));
}

template <class L>
typename L::F64 tanh(typename L::F64 x) {
  using D = typename L::F64;
  const D a = L::abs(x), u = a * a;
  const D small = L::fma(a * u, polynomial<L>(u, kTanhF64), a);
  const D large = 1.0 - 2.0 / (exp<L>(a + a) + 1.0);
  const D y = L::copysign(L::select(u < 0.5, small, large), x);
  return L::select(x == x, y, L::f64(kNanF64));
}

}  // namespace kiln::math
