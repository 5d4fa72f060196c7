// Values carried as a sum of two doubles.
#pragma once

#include "compiler_core/math/lanes.h"

namespace kiln::math {

// A sum of two doubles, the second below the last bit of the first.
template <class L>
struct Double2 {
  typename L::F64 high, low;
};

// a + b exactly. Requires |a| >= |b| or a == 0.
template <class L>
Double2<L> fastTwoSum(typename L::F64 a, typename L::F64 b) {
  const typename L::F64 sum = a + b;
  return {sum, b - (sum - a)};
}

template <class L>
Double2<L> multiply(Double2<L> a, Double2<L> b) {
  const typename L::F64 p = a.high * b.high;
  const typename L::F64 e = L::fma(a.high, b.high, -p);
  return fastTwoSum<L>(p, L::fma(a.high, b.low, L::fma(a.low, b.high, e)));
}

}  // namespace kiln::math
