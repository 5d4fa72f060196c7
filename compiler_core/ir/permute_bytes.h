// The elements of a dense tensor with its dimensions in another order. No MLIR: the packager uses it, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kiln::ir {

// Writes to `to` the row-major tensor whose dimension i is dimension permutation[i] of the row-major tensor
// `from` of this shape; both have elements of `width` bytes (1, 2, 4 or 8), and neither need be aligned.
// `permutation` is one of all dimensions, the two do not overlap, and the caller has checked their sizes.
// Goes through both in blocks, since a column of a large matrix has a page of memory for each element.
void permuteBytes(const std::uint8_t* from, std::span<const std::int64_t> shape,
                  std::span<const std::int64_t> permutation, std::size_t width, std::uint8_t* to);

}  // namespace kiln::ir
