// What a Vulkan driver compiled of a module, kept between processes. A driver believes what it is given here
// and runs it, so what is kept is for those alone who could run anything as this user: never a part of an
// artifact, never shared between users or between artifacts of others.
// Format of a file: kCacheMagic, the SHA-256 of what follows, then the driver's bytes, which begin with the
// header of Vulkan specification 1.3, section 10.6 ("Pipeline Cache Header").
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::runtime {

// Who can use a cache: as a driver says of itself and its device.
struct VulkanCacheKey {
  std::uint32_t vendor = 0, device = 0, driverVersion = 0;
  std::array<std::uint8_t, 16> uuid{};  // pipelineCacheUUID
};

inline constexpr std::string_view kCacheMagic = "kiln vulkan cache 1\n";
inline constexpr std::size_t kMaxCacheBytes = 256u << 20;
inline constexpr std::size_t kCacheHeaderBytes = 32;

// A driver's bytes as it may get them back: whole header, its version, this vendor, device and uuid.
// kDataLoss says what is another.
Status checkCacheData(std::string_view data, const VulkanCacheKey& key);

// The file of a module in a directory: its name is a digest of the key and of the module's bytes.
class VulkanCacheFile {
 public:
  VulkanCacheFile(const std::string& directory, const VulkanCacheKey& key, std::string_view module);
  const std::string& path() const { return path_; }
  // kNotFound; kDataLoss, and kPermissionDenied for a file that others than this user could have written.
  Result<std::string> read() const;
  // Replaces it. Makes the directory, for this user alone, and those above it.
  Status write(std::string_view data) const;

 private:
  const VulkanCacheKey key_;
  const std::string directory_;
  std::string path_;
};

}  // namespace kiln::runtime
