// The blobs of an OCI image layout on disk, read-only. Whoever made the directory may have lied: every blob
// is hashed as it is read, sizes are those asked for, links and special files are not followed.
#pragma once

#include <memory>
#include <string>

#include "manifest/base/file.h"
#include "storage/blob/blob_store.h"

namespace kiln::storage {

// Thread safe. Instances are not told apart: whoever has the directory has all of it.
class OciLayoutStore final : public BlobStore {
 public:
  // kNotFound without such a directory, kInvalidArgument if it is no OCI image layout.
  static Result<std::unique_ptr<OciLayoutStore>> open(const std::string& directory);
  // Whether the directory says that it is one.
  static bool isLayout(const std::string& directory);

  // kPermissionDenied: an export is not written through this.
  Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) override;
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const ByteSink& sink) override;
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override;

  // A file beside the blobs: "index.json". kDataLoss beyond `limit` bytes or if it is no plain file.
  Result<std::string> readText(const std::string& name, std::uint64_t limit) const;

 private:
  explicit OciLayoutStore(UniqueFd directory) : directory_(std::move(directory)) {}
  Result<UniqueFd> openBlob(const Digest& digest) const;

  const UniqueFd directory_;
};

}  // namespace kiln::storage
