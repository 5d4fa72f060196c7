// Stable sorting of positions by a merge sort from runs of 16: no recursion, no allocation, one order for
// every input.
#pragma once

#include "compiler_core/kernels/numeric.h"

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

// Sorts along the middle of [outer, n, inner]. `scratch` holds 2 n.
template <class T>
void sort(const T* input, I64 outer, I64 n, I64 inner, T* values, I64* indices, I64* scratch,
          bool descending) {
  for (I64 o = 0; o < outer; ++o) {
    for (I64 j = 0; j < inner; ++j) {
      const I64 base = o * n * inner + j;
      const T* line = input + base;
      if (descending)
        sortPositions(scratch, scratch + n, n,
                      [=](I64 a, I64 b) { return before(line[b * inner], line[a * inner]); });
      else
        sortPositions(scratch, scratch + n, n,
                      [=](I64 a, I64 b) { return before(line[a * inner], line[b * inner]); });
      for (I64 i = 0; i < n; ++i) {
        values[base + i * inner] = line[scratch[i] * inner];
        indices[base + i * inner] = scratch[i];
      }
    }
  }
}

// The distinct rows of input [n, row]; results as kiln.unique says. `scratch` holds 2 n.
template <class T>
void unique(const T* input, I64 n, I64 row, I64* indices, I64* inverse, I64* counts, I64* count, I64* scratch,
            bool sorted) {
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
