// The size that a file of kernels may have: the compiler makes none that a runtime would refuse.
#pragma once

#include <cstdint>

namespace kiln {

inline constexpr std::uint64_t kMaxDeviceImageBytes = std::uint64_t{1} << 30;

}  // namespace kiln
