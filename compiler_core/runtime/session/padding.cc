#include "compiler_core/runtime/session/padding.h"

#include <algorithm>
#include <cstring>

namespace kiln::runtime {
namespace {

std::size_t product(std::span<const std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
  return count;
}

}  // namespace

void copyCorner(const void* from, std::span<const std::int64_t> fromShape, void* to,
                std::span<const std::int64_t> toShape, std::size_t elementBytes) {
  // Trailing dimensions of one size are copied as one block.
  std::size_t rank = fromShape.size();
  while (rank > 0 && fromShape[rank - 1] == toShape[rank - 1]) --rank;
  const std::size_t inner = product(fromShape.subspan(rank)) * elementBytes;
  if (rank == 0) {
    if (inner != 0) std::memcpy(to, from, inner);
    return;
  }
  const std::span<const std::int64_t> fromOuter = fromShape.first(rank), toOuter = toShape.first(rank);
  if (rank == 1) {
    const auto common = static_cast<std::size_t>(std::min(fromOuter[0], toOuter[0]));
    if (common * inner != 0) std::memcpy(to, from, common * inner);
    return;
  }
  const std::size_t fromStride = product(fromShape.subspan(1)) * elementBytes,
                    toStride = product(toShape.subspan(1)) * elementBytes;
  for (std::int64_t i = 0; i < std::min(fromShape[0], toShape[0]); ++i) {
    const auto at = static_cast<std::size_t>(i);
    copyCorner(static_cast<const std::byte*>(from) + at * fromStride, fromShape.subspan(1),
               static_cast<std::byte*>(to) + at * toStride, toShape.subspan(1), elementBytes);
  }
}

}  // namespace kiln::runtime
