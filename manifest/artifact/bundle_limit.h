// The number of statements that an artifact may have: one limit for whoever publishes, exports, fetches and
// verifies.
#pragma once

#include <cstddef>

namespace kiln {

inline constexpr std::size_t kMaxBundles = 256;

}  // namespace kiln
