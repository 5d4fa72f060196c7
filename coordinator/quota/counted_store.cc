#include "coordinator/quota/counted_store.h"

#include <set>

namespace kiln::quota {

using storage::BlobBytes;
using storage::BlobWriter;

class CountedStore::Writer final : public BlobWriter {
 public:
  Writer(std::unique_ptr<BlobWriter> inner, std::unique_ptr<TakenBytes> taken)
      : taken_(std::move(taken)), inner_(std::move(inner)) {}
  Status write(Bytes bytes) override { return inner_->write(bytes); }
  Status commit() override {
    KILN_TRY(inner_->commit());
    taken_->keep();
    return {};
  }

 private:
  const std::unique_ptr<TakenBytes> taken_;
  const std::unique_ptr<BlobWriter> inner_;
};

Result<std::unique_ptr<BlobWriter>> CountedStore::beginWrite(const std::string& instance,
                                                             const Digest& digest) {
  if (!books_.count(instance)) return base_.beginWrite(instance, digest);
  KILN_ASSIGN(const bool present, storage::hasBlob(base_, instance, digest));
  if (present) return base_.beginWrite(instance, digest);
  KILN_ASSIGN(auto taken,
              TakenBytes::take(books_, uploader_, instance, static_cast<std::int64_t>(digest.size)));
  KILN_ASSIGN(auto writer, base_.beginWrite(instance, digest));
  return std::make_unique<Writer>(std::move(writer), std::move(taken));
}

std::vector<Status> CountedStore::putBatch(const std::string& instance, std::span<const BlobBytes> blobs) {
  if (!books_.count(instance)) return base_.putBatch(instance, blobs);
  std::vector<Digest> digests;
  for (const BlobBytes& blob : blobs) digests.push_back(blob.digest);
  const auto missing = base_.findMissing(instance, digests);
  if (!missing) return std::vector<Status>(blobs.size(), fail(missing.error()));
  std::int64_t bytes = 0;
  std::set<Digest> unstored(missing->begin(), missing->end());
  for (const Digest& digest : unstored) bytes += static_cast<std::int64_t>(digest.size);
  const auto taken = TakenBytes::take(books_, uploader_, instance, bytes);
  if (!taken) return std::vector<Status>(blobs.size(), fail(taken.error()));
  std::vector<Status> statuses = base_.putBatch(instance, blobs);
  for (std::size_t i = 0; i < blobs.size(); ++i)
    if (statuses[i]) unstored.erase(blobs[i].digest);
  bytes = 0;
  for (const Digest& digest : unstored) bytes += static_cast<std::int64_t>(digest.size);
  (*taken)->giveBack(bytes);
  (*taken)->keep();
  return statuses;
}

}  // namespace kiln::quota
