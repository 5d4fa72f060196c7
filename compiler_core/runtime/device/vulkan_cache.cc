#include "compiler_core/runtime/device/vulkan_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "manifest/base/digest.h"
#include "manifest/base/durable_file.h"
#include "manifest/base/file.h"

namespace kiln::runtime {
namespace {

constexpr std::size_t kHashBytes = 32;

std::string_view hashOf(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.hash.data()), digest.hash.size()};
}

std::uint32_t wordAt(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Its own user's alone: a driver runs what it holds.
Status checkOwner(int fd, const std::string& path) {
  struct stat status{};
  if (::fstat(fd, &status) == 0 && status.st_uid == ::geteuid() &&
      (status.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    return {};
  return fail(Code::kPermissionDenied, path + ": others than this user could have written it; remove it");
}

}  // namespace

Status checkCacheData(std::string_view data, const VulkanCacheKey& key) {
  const auto bad = [](const std::string& why) { return fail(Code::kDataLoss, "a pipeline cache " + why); };
  if (data.size() < kCacheHeaderBytes) return bad("that ends within its header");
  if (wordAt(data, 0) != kCacheHeaderBytes || wordAt(data, 4) != 1)
    return bad("with a header of another form");
  if (wordAt(data, 8) != key.vendor || wordAt(data, 12) != key.device) return bad("of another device");
  if (std::memcmp(data.data() + 16, key.uuid.data(), key.uuid.size()) != 0)
    return bad("of another build of the driver");
  return {};
}

VulkanCacheFile::VulkanCacheFile(const std::string& directory, const VulkanCacheKey& key,
                                 std::string_view module)
    : key_(key), directory_(directory) {
  Hasher hasher;
  hasher.update(asBytes(kCacheMagic));
  for (const std::uint32_t number : {key.vendor, key.device, key.driverVersion})
    hasher.update({reinterpret_cast<const std::uint8_t*>(&number), sizeof number});
  hasher.update(key.uuid);
  hasher.update(asBytes(hashOf(digestOf(module))));
  path_ = directory + "/" + hasher.finish().hex() + ".vkcache";
}

Result<std::string> VulkanCacheFile::read() const {
  const std::size_t head = kCacheMagic.size() + kHashBytes;
  KILN_ASSIGN(const UniqueFd file, openRegular(path_, O_NOFOLLOW));
  KILN_TRY(checkOwner(file.get(), path_));
  const auto bad = [this](const std::string& why) { return fail(Code::kDataLoss, path_ + ": " + why); };
  const auto bytes = readToEnd(file.get(), head + kMaxCacheBytes, path_);
  if (!bytes) return bad(bytes.error().message);
  if (bytes->size() < head || !bytes->starts_with(kCacheMagic)) return bad("no pipeline cache, or cut off");
  std::string data = bytes->substr(head);
  if (hashOf(digestOf(data)) != std::string_view(*bytes).substr(kCacheMagic.size(), kHashBytes))
    return bad("cut off or changed: its digest is another");
  if (const Status whole = checkCacheData(data, key_); !whole) return bad(whole.error().message);
  return data;
}

Status VulkanCacheFile::write(std::string_view data) const {
  KILN_TRY(checkCacheData(data, key_));
  std::error_code error;  // of what is above it: makeDirectory() tells
  std::filesystem::create_directories(std::filesystem::path(directory_).parent_path(), error);
  KILN_TRY(makeDirectory(directory_, 0700));
  const std::string content =
      std::string(kCacheMagic) + std::string(hashOf(digestOf(data))) + std::string(data);
  // Of this process alone until it is whole: several may write at once, each the same.
  const std::string fresh = path_ + "." + std::to_string(::getpid());
  KILN_TRY(writeFile(fresh, asBytes(content), O_TRUNC | O_NOFOLLOW, 0600));
  if (::rename(fresh.c_str(), path_.c_str()) == 0) return {};
  const std::string why = std::strerror(errno);
  ::unlink(fresh.c_str());
  return fail(Code::kUnavailable, path_ + ": " + why);
}

}  // namespace kiln::runtime
