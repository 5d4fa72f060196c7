// The layout of the arenas of a program's device spaces in a session's one allocation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "manifest/artifact/manifest.h"

namespace kiln::runtime {

// More than a program asks of a pointer (KILN_ALIGNMENT): what a device reads in one go.
inline constexpr std::uint64_t kDeviceAlignment = 256;
inline std::uint64_t deviceAligned(std::uint64_t bytes) {
  return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
}
// Sums of fewer than 2^14 sizes below this do not overflow.
inline constexpr std::uint64_t kMaxDeviceBytes = std::uint64_t{1} << 48;

// Spaces one after the other, each as large as the profile that asks for most.
class DeviceArenas {
 public:
  explicit DeviceArenas(const Manifest& manifest) {
    for (std::size_t space = 0; space < manifest.devices.size(); ++space) {
      std::uint64_t most = 0;
      for (const ProgramProfile& profile : manifest.profiles)
        most = std::max(most, profile.deviceArenaBytes[space]);
      offsets_.push_back(bytes_);
      bytes_ += deviceAligned(most);
    }
  }
  std::uint64_t bytes() const { return bytes_; }
  // Element i is the offset of space i + 1.
  const std::vector<std::uint64_t>& offsets() const { return offsets_; }

 private:
  std::vector<std::uint64_t> offsets_;
  std::uint64_t bytes_ = 0;
};

}  // namespace kiln::runtime
