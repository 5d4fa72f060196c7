// The statements that an artifact may have: one limit for whoever publishes, exports, fetches and verifies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "manifest/base/result.h"

namespace kiln {

inline constexpr std::size_t kMaxBundles = 256;
inline constexpr std::uint64_t kMaxBundleBytes = 12u << 20;   // of one
inline constexpr std::uint64_t kMaxBundlesBytes = 64u << 20;  // of all

// Counts the bundles of one artifact by what they claim to be, before any of them is read: nobody has looked
// at a signature by then, and whoever offers them may be anybody. Not thread safe.
class BundleCount {
 public:
  // One more, of `bytes`. kDataLoss says which limit it exceeds and what to do.
  Status add(std::uint64_t bytes);

 private:
  std::size_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace kiln
