#include "coordinator/service/blob_io.h"

#include <algorithm>

namespace kiln::service {

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

Status storeBlobs(storage::BlobStore& blobs, const std::string& instance,
                  const std::map<Digest, std::string>& contents) {
  std::vector<Digest> digests;
  for (const auto& [digest, bytes] : contents) digests.push_back(digest);
  KILN_ASSIGN(std::vector<Digest> missing, blobs.findMissing(instance, digests));
  std::vector<storage::BlobBytes> batch;
  for (const Digest& digest : missing) batch.push_back({digest, asBytes(contents.at(digest))});
  if (batch.empty()) return {};
  for (const Status& status : blobs.putBatch(instance, batch)) KILN_TRY(status);
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
