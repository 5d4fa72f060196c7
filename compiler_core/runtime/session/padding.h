// Tensors put into larger ones and cut out again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kiln::runtime {

// Copies the corner that two dense row-major tensors of `elementBytes` and of one rank have in common: with
// `to` the larger one it embeds `from`, with `from` the larger one it cuts `to` out. Other bytes of `to`
// stay.
void copyCorner(const void* from, std::span<const std::int64_t> fromShape, void* to,
                std::span<const std::int64_t> toShape, std::size_t elementBytes);

}  // namespace kiln::runtime
