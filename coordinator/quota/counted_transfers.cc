#include "coordinator/quota/counted_transfers.h"

namespace kiln::quota {

Result<std::unique_ptr<TakenBytes>> CountedTransfers::take(const std::string& instance,
                                                           const Digest& digest) {
  if (!books_.count(instance)) return nullptr;
  KILN_ASSIGN(const bool present, storage::hasBlob(blobs_, instance, digest));
  if (present) return nullptr;
  return TakenBytes::take(books_, uploader_, instance, static_cast<std::int64_t>(digest.size));
}

Result<storage::BlobRoute> CountedTransfers::beginUpload(const std::string& instance, const Digest& digest) {
  // First, since a directory has no such way at all.
  KILN_ASSIGN(storage::BlobRoute route, base_.beginUpload(instance, digest));
  // Given back at once: whether it would be too much.
  KILN_TRY(take(instance, digest));
  return route;
}

Status CountedTransfers::finishUpload(const std::string& instance, const Digest& digest,
                                      const std::string& upload) {
  KILN_ASSIGN(const auto taken, take(instance, digest));
  KILN_TRY(base_.finishUpload(instance, digest, upload));
  if (taken) taken->keep();
  return {};
}

}  // namespace kiln::quota
