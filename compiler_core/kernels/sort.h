// Stable sorting of positions by a merge sort from runs of 16: no recursion, no allocation, one order for
// every input.
#pragma once

#include "compiler_core/kernels/extents.h"

namespace kiln::kernels {

// Makes order[0..n) the positions 0..n-1 sorted by `less(i, j)`, a strict weak order on positions; equal ones
// stay ascending. `scratch` holds n more.
template <class Less>
void sortPositions(I64* order, I64* scratch, I64 n, Less less) {
  constexpr I64 kRun = 16;
  for (I64 start = 0; start < n; start += kRun) {
    const I64 end = start + kRun < n ? start + kRun : n;
    for (I64 i = start; i < end; ++i) {
      I64 at = i;
      for (; at > start && less(i, order[at - 1]); --at) order[at] = order[at - 1];
      order[at] = i;
    }
  }
  I64 *from = order, *to = scratch;
  for (I64 width = kRun; width < n; width *= 2) {
    for (I64 start = 0; start < n; start += 2 * width) {
      const I64 middle = start + width < n ? start + width : n;
      const I64 end = middle + width < n ? middle + width : n;
      I64 a = start, b = middle;
      for (I64 out = start; out < end; ++out)
        to[out] = b == end || (a < middle && !less(from[b], from[a])) ? from[a++] : from[b++];
    }
    I64* const swapped = from;
    from = to;
    to = swapped;
  }
  if (from != order)
    for (I64 i = 0; i < n; ++i) order[i] = from[i];
}

// Elements in their order, and where they stood.
template <class T>
struct Sorted {
  T* values;
  I64* indices;
};

// Sorts along the middle of [outer, line.n, line.step]. `scratch` holds 2 line.n.
template <class T>
void sort(const T* input, I64 outer, Line line, Sorted<T> result, I64* scratch, bool descending) {
  const I64 n = line.n, inner = line.step;
  const auto [values, indices] = result;
  for (I64 o = 0; o < outer; ++o) {
    for (I64 j = 0; j < inner; ++j) {
      const I64 base = o * n * inner + j;
      const T* first = input + base;
      if (descending)
        sortPositions(scratch, scratch + n, n,
                      [=](I64 a, I64 b) { return before(first[b * inner], first[a * inner]); });
      else
        sortPositions(scratch, scratch + n, n,
                      [=](I64 a, I64 b) { return before(first[a * inner], first[b * inner]); });
      for (I64 i = 0; i < n; ++i) {
        values[base + i * inner] = first[scratch[i] * inner];
        indices[base + i * inner] = scratch[i];
      }
    }
  }
}

// The results of kiln.unique.
struct Distinct {
  I64 *indices, *inverse, *counts, *count;
};

// The distinct rows of an input of this shape. `scratch` holds 2 shape.count.
template <class T>
void unique(const T* input, Rows shape, Distinct result, I64* scratch, bool sorted) {
  const I64 n = shape.count, row = shape.row;
  const auto [indices, inverse, counts, count] = result;
  const auto less = [=](I64 a, I64 b) {
    const T *x = input + a * row, *y = input + b * row;
    for (I64 i = 0; i < row; ++i) {
      if (before(x[i], y[i])) return true;
      if (before(y[i], x[i])) return false;
    }
    return false;
  };
  I64* const order = scratch;
  I64* const rank = scratch + n;
  sortPositions(order, rank, n, less);
  // Each row to the first of its equals: positions of equals ascend in `order`.
  for (I64 i = 0, first = 0; i < n; ++i) {
    if (i > 0 && less(order[i - 1], order[i])) first = i;
    inverse[order[i]] = order[first];
  }
  // Number the first ones, in order of value or of occurrence.
  I64 distinct = 0;
  for (I64 i = 0; i < n; ++i) {
    const I64 at = sorted ? order[i] : i;
    indices[i] = 0;
    counts[i] = 0;
    if (inverse[at] != at) continue;
    indices[distinct] = at;
    rank[at] = distinct++;
  }
  for (I64 i = 0; i < n; ++i) {
    inverse[i] = rank[inverse[i]];
    ++counts[inverse[i]];
  }
  *count = distinct;
}

}  // namespace kiln::kernels
