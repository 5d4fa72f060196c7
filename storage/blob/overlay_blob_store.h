// OverlayBlobStore: writes go to one store, reads to it and then to another, which stays as it is.
#pragma once

#include "storage/blob/blob_store.h"

namespace kiln::storage {

// Thread safe if both are, which must outlive it.
class OverlayBlobStore final : public BlobStore {
 public:
  OverlayBlobStore(BlobStore& upper, BlobStore& lower) : upper_(upper), lower_(lower) {}

  Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) override;
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const ByteSink& sink) override;
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override;

 private:
  BlobStore& upper_;
  BlobStore& lower_;
};

}  // namespace kiln::storage
