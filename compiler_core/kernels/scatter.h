// Rows of updates into rows of data, in order.
#pragma once

#include "compiler_core/kernels/extents.h"

namespace kiln::kernels {

// data [shape.count, shape.row], indices [n], updates [n, shape.row]; data[indices[i]] =
// combine(data[indices[i]], updates[i]). An index outside [0, shape.count) is ignored.
template <class T, class Combine>
void scatter(const I64* indices, I64 n, const T* updates, T* data, Rows shape, Combine combine) {
  const auto [rows, row] = shape;
  for (I64 i = 0; i < n; ++i) {
    const I64 at = indices[i];
    if (at < 0 || at >= rows) continue;
    T* to = data + at * row;
    const T* from = updates + i * row;
    for (I64 j = 0; j < row; ++j) to[j] = combine(to[j], from[j]);
  }
}

}  // namespace kiln::kernels
