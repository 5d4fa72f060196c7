// A local blob store, read-only, that may not exist yet: a farm starts its signer before anything is stored.
#pragma once

#include <memory>
#include <string>

#include "manifest/base/mutex.h"
#include "storage/blob/local_blob_store.h"

namespace kiln::signing {

// Opens the store when it is first needed; until it exists every read is kFailedPrecondition. Thread safe.
class LazyBlobStore final : public storage::BlobStore {
 public:
  explicit LazyBlobStore(std::string directory) : directory_(std::move(directory)) {}

  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string& instance,
                                                          const Digest& digest) override;
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override;
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override;

 private:
  Result<storage::BlobStore*> opened();

  const std::string directory_;
  Mutex mutex_;
  std::unique_ptr<storage::LocalBlobStore> store_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::signing
