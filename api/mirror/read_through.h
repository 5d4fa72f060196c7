// A store that keeps what is read through it: what a verification reads is then here.
#pragma once

#include "storage/blob/local_blob_store.h"

namespace kiln::mirror {

// Thread safe. Both stores must outlive it.
class ReadThrough final : public storage::BlobStore {
 public:
  ReadThrough(storage::LocalBlobStore& here, storage::BlobStore& there) : here_(here), there_(there) {}

  // kPermissionDenied: nothing is written but what is read.
  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string& instance,
                                                          const Digest& digest) override;
  // From here; what is not here, or no longer has its hash, comes from there first, durably. kDataLoss
  // (exitCode 5) if something else comes.
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override;
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override;

 private:
  Status bring(const std::string& instance, const Digest& digest);

  storage::LocalBlobStore& here_;
  storage::BlobStore& there_;
};

}  // namespace kiln::mirror
