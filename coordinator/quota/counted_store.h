// A BlobStore that counts what an instance gains by uploads (usage.h), and refuses what is beyond its quota.
#pragma once

#include "coordinator/quota/taken_bytes.h"
#include "storage/blob/blob_store.h"

namespace kiln::quota {

// Thread safe as `base`, which must outlive it. Further errors of writes: kResourceExhausted beyond the quota
// (usage.h), and those of the database. Bytes count from the beginning of their upload and are given back if
// it does not end well; a blob that is there already counts for nothing. An instance whose quota names no
// bytes is not counted.
class CountedStore final : public storage::BlobStore {
 public:
  CountedStore(storage::BlobStore& base, const Books& books, Uploader uploader)
      : base_(base), books_(books), uploader_(uploader) {}

  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string& instance,
                                                          const Digest& digest) override;
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override {
    return base_.read(instance, digest, offset, length, sink);
  }
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override {
    return base_.findMissing(instance, digests);
  }
  std::vector<Status> putBatch(const std::string& instance,
                               std::span<const storage::BlobBytes> blobs) override;

 private:
  class Writer;

  storage::BlobStore& base_;
  const Books books_;
  const Uploader uploader_;
};

}  // namespace kiln::quota
