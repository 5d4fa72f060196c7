#include "compiler_core/ir/permute_bytes.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace kiln::ir {
namespace {

// One dimension of the result.
struct Dim {
  std::size_t extent, from, to;  // the strides in elements
};

// Dimensions of the result with their strides. Those of one element are left out, and those that lie together
// in both tensors are one.
std::vector<Dim> dimsOf(std::span<const std::int64_t> shape, std::span<const std::int64_t> permutation) {
  const std::size_t rank = shape.size();
  std::vector<std::size_t> strides(rank, 1);
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * static_cast<std::size_t>(shape[i]);
  std::vector<Dim> dims;
  std::size_t stride = 1;
  for (std::size_t i = rank; i-- > 0;) {
    const auto source = static_cast<std::size_t>(permutation[i]);
    const auto extent = static_cast<std::size_t>(shape[source]);
    if (!dims.empty() && dims.back().from * dims.back().extent == strides[source])
      dims.back().extent *= extent;
    else if (extent != 1)
      dims.push_back({extent, strides[source], stride});
    stride *= extent;
  }
  std::ranges::reverse(dims);
  return dims;
}

// work(from, to) for the offsets of every index over `dims`, in the order of the result.
template <class Work>
void forEachIndex(const std::vector<Dim>& dims, const Work& work) {
  std::vector<std::size_t> index(dims.size(), 0);
  std::size_t from = 0, to = 0;
  for (;;) {
    work(from, to);
    std::size_t at = dims.size();
    for (; at > 0; --at) {
      const Dim& dim = dims[at - 1];
      from += dim.from;
      to += dim.to;
      if (++index[at - 1] < dim.extent) break;
      from -= dim.from * dim.extent;
      to -= dim.to * dim.extent;
      index[at - 1] = 0;
    }
    if (at == 0) return;
  }
}

// A matrix whose rows lie one after the other in the result, and its columns in the source.
template <std::size_t kWidth>
void transpose(const std::uint8_t* from, std::uint8_t* to, const Dim& rows, const Dim& columns) {
  constexpr std::size_t kBlock = 32;
  for (std::size_t r = 0; r < rows.extent; r += kBlock)
    for (std::size_t c = 0; c < columns.extent; c += kBlock)
      for (std::size_t i = r; i < std::min(r + kBlock, rows.extent); ++i)
        for (std::size_t j = c; j < std::min(c + kBlock, columns.extent); ++j)
          std::memcpy(to + (i * rows.to + j * columns.to) * kWidth,
                      from + (i * rows.from + j * columns.from) * kWidth, kWidth);
}

template <std::size_t kWidth>
void permute(const std::uint8_t* from, std::vector<Dim> dims, std::uint8_t* to) {
  const Dim inner = dims.back();
  dims.pop_back();
  if (inner.from == 1) {
    forEachIndex(dims, [&](std::size_t source, std::size_t result) {
      std::memcpy(to + result * kWidth, from + source * kWidth, inner.extent * kWidth);
    });
    return;
  }
  // Where the elements of the source follow each other; it is one of the others, since strides are all
  // different.
  const auto along = std::ranges::min_element(dims, {}, &Dim::from);
  const Dim rows = *along;
  dims.erase(along);
  forEachIndex(dims, [&](std::size_t source, std::size_t result) {
    transpose<kWidth>(from + source * kWidth, to + result * kWidth, rows, inner);
  });
}

}  // namespace

void permuteBytes(const std::uint8_t* from, std::span<const std::int64_t> shape,
                  std::span<const std::int64_t> permutation, std::size_t width, std::uint8_t* to) {
  if (std::ranges::find(shape, 0) != shape.end()) return;
  std::vector<Dim> dims = dimsOf(shape, permutation);
  if (dims.empty()) dims.push_back({1, 1, 1});
  switch (width) {
    case 1:
      return permute<1>(from, std::move(dims), to);
    case 2:
      return permute<2>(from, std::move(dims), to);
    case 4:
      return permute<4>(from, std::move(dims), to);
    default:
      return permute<8>(from, std::move(dims), to);
  }
}

}  // namespace kiln::ir
