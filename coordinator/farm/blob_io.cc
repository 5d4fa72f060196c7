#include "coordinator/farm/blob_io.h"

namespace kiln::service {
namespace {

constexpr std::uint64_t kMaxOutputBytes = 64ull << 30;  // that one report makes the farm read

}  // namespace

Status rehash(storage::BlobStore& blobs, const std::string& instance, const Digest& digest) {
  Hasher hasher;
  KILN_TRY(blobs.read(instance, digest, 0, 0, [&](Bytes bytes) -> Status {
    hasher.update(bytes);
    return {};
  }));
  if (hasher.finish() != digest)
    return fail(Code::kDataLoss, "the bytes stored as " + digest.text() + " have another digest");
  return {};
}

Status rehashAll(storage::BlobStore& blobs, const std::string& instance,
                 const std::map<Digest, std::string>& named) {
  std::uint64_t left = kMaxOutputBytes;
  for (const auto& [digest, name] : named) {
    if (digest.size > left) return fail(Code::kInvalidArgument, "the outputs have more than 64 GiB");
    left -= digest.size;
  }
  for (const auto& [digest, name] : named)
    if (auto status = rehash(blobs, instance, digest); !status)
      return fail(status.error().in("output " + name));
  return {};
}

Result<std::string> readTail(storage::BlobStore& blobs, const std::string& instance, const Digest& digest,
                             std::uint64_t limit) {
  std::string tail;
  if (digest.size == 0) return tail;
  std::uint64_t offset = digest.size > limit ? digest.size - limit : 0;
  KILN_TRY(blobs.read(instance, digest, offset, 0, [&](Bytes bytes) -> Status {
    tail.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }));
  return tail;
}

}  // namespace kiln::service
