// Operations that walk along one axis, the middle of [outer, n, inner].
#pragma once

#include "compiler_core/kernels/extents.h"

namespace kiln::kernels {

// Running sum or product. Sums of floats are carried wider than their type.
template <class T, bool Product>
void cumulative(const T* input, I64 outer, Line line, T* output, bool exclusive, bool reverse) {
  const auto [n, inner] = line;
  using N = Number<T>;
  for (I64 o = 0; o < outer; ++o) {
    for (I64 j = 0; j < inner; ++j) {
      const I64 first = (o * n + (reverse ? n - 1 : 0)) * inner + j, step = reverse ? -inner : inner;
      typename N::Sum total = Product ? 1 : 0;
      for (I64 i = 0, at = first; i < n; ++i, at += step) {
        const typename N::Sum x = N::toSum(input[at]);
        if (exclusive) output[at] = N::fromSum(total);
        total = Product ? total * x : total + x;
        if (!exclusive) output[at] = N::fromSum(total);
      }
    }
  }
}

// Position of the largest (smallest) element: the first of equals, or the last; NaN wins. n >= 1.
template <class T, bool Largest>
void argReduce(const T* input, I64 outer, I64 n, I64 inner, I64* output, bool last) {
  using N = Number<T>;
  for (I64 o = 0; o < outer; ++o) {
    const T* block = input + o * n * inner;
    I64* best = output + o * inner;
    for (I64 j = 0; j < inner; ++j) best[j] = 0;
    for (I64 i = 1; i < n; ++i) {
      for (I64 j = 0; j < inner; ++j) {
        const auto x = N::load(block[i * inner + j]), y = N::load(block[best[j] * inner + j]);
        const bool xNan = x != x, yNan = y != y;
        const bool better = yNan ? false : xNan || (Largest ? x > y : x < y);
        const bool equal = (xNan && yNan) || x == y;
        if (better || (last && equal)) best[j] = i;
      }
    }
  }
}

// Positions of what is not 0, ascending; 0 after them.
inline void compress(const U8* mask, I64 n, I64* indices, I64* count) {
  I64 found = 0;
  for (I64 i = 0; i < n; ++i)
    if (mask[i]) indices[found++] = i;
  for (I64 i = found; i < n; ++i) indices[i] = 0;
  *count = found;
}

}  // namespace kiln::kernels
