// Extents that belong together. All structs here are two words, which are handed over in registers: a larger
// one would change the programs that a function becomes part of.
#pragma once

#include "compiler_core/kernels/numeric.h"

namespace kiln::kernels {

// A line of `n` elements, each `step` behind the one before: along the middle of [outer, n, step].
struct Line {
  I64 n, step;
};

// The shape [count, row] of a matrix.
struct Rows {
  I64 count, row;
};

}  // namespace kiln::kernels
