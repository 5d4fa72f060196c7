// DirectTransfers that count as CountedStore does what an instance gains by uploads past the coordinator.
#pragma once

#include "coordinator/quota/taken_bytes.h"
#include "storage/blob/blob_store.h"
#include "storage/blob/direct_transfers.h"

namespace kiln::quota {

// Thread safe as `base` and `blobs`, the same store, which must outlive it. An upload is refused
// (kResourceExhausted) where it would be too much when it begins, and again when it ends: then it counts.
// What was begun and never ended is nobody's; the bucket's rule removes it within a day.
class CountedTransfers final : public storage::DirectTransfers {
 public:
  CountedTransfers(storage::DirectTransfers& base, storage::BlobStore& blobs, const Books& books,
                   Uploader uploader)
      : base_(base), blobs_(blobs), books_(books), uploader_(uploader) {}

  Result<storage::BlobRoute> locate(const std::string& instance, const Digest& digest) override {
    return base_.locate(instance, digest);
  }
  Result<storage::BlobRoute> beginUpload(const std::string& instance, const Digest& digest) override;
  Status finishUpload(const std::string& instance, const Digest& digest, const std::string& upload) override;

 private:
  // Nothing where this upload counts for nothing.
  Result<std::unique_ptr<TakenBytes>> take(const std::string& instance, const Digest& digest);

  storage::DirectTransfers& base_;
  storage::BlobStore& blobs_;
  const Books books_;
  const Uploader uploader_;
};

}  // namespace kiln::quota
