#include "storage/blob/overlay_blob_store.h"

namespace kiln::storage {

Result<std::unique_ptr<BlobWriter>> OverlayBlobStore::beginWrite(const std::string& instance,
                                                                 const Digest& digest) {
  return upper_.beginWrite(instance, digest);
}

Status OverlayBlobStore::read(const std::string& instance, const Digest& digest, std::uint64_t offset,
                              std::uint64_t length, const ByteSink& sink) {
  KILN_ASSIGN(const bool above, hasBlob(upper_, instance, digest));
  return (above ? upper_ : lower_).read(instance, digest, offset, length, sink);
}

Result<std::vector<Digest>> OverlayBlobStore::findMissing(const std::string& instance,
                                                          std::span<const Digest> digests) {
  KILN_ASSIGN(const std::vector<Digest> missing, upper_.findMissing(instance, digests));
  return lower_.findMissing(instance, missing);
}

}  // namespace kiln::storage
