// How much a reader makes of a file: attributes may hold each other again and again, so that few bytes say
// much.
#pragma once

#include <algorithm>
#include <cstddef>

namespace kiln::stablehlo {

// The attributes and types that one program of `bytes` may have, each counted as often as it is used. Real
// programs use less than two for each byte.
inline std::size_t readBudget(std::size_t bytes) {
  constexpr std::size_t kPerByte = 16, kLeast = std::size_t{1} << 16, kMost = std::size_t{1} << 22;
  return std::clamp(bytes * kPerByte, kLeast, kMost);
}

}  // namespace kiln::stablehlo
