#include "coordinator/quota/counted_store.h"

#include <set>

#include "coordinator/quota/usage.h"

namespace kiln::quota {

using storage::BlobBytes;
using storage::BlobWriter;

// Bytes that are counted for one instance, until they are given back.
class CountedStore::Taken {
 public:
  static Result<std::unique_ptr<Taken>> take(const Books& books, Uploader uploader,
                                             const std::string& instance, std::int64_t bytes) {
    std::unique_ptr<Taken> out(new Taken(books, uploader, instance));
    const Quota quota = uploader == Uploader::kClient ? books.quotas.current()->of(instance) : Quota();
    KILN_TRY(out->change([&](postgres::Connection& c, Resource resource) {
      return takeBytes(c, quota, instance, resource, bytes, out->at_);
    }));
    out->bytes_ = bytes;
    return out;
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  // Where the database does not take it, the next collection of garbage finds out what is stored.
  ~Taken() { giveBack(bytes_); }

  void keep() { bytes_ = 0; }
  void giveBack(std::int64_t bytes) {
    if (bytes == 0) return;
    bytes_ -= bytes;
    (void)change([&](postgres::Connection& c, Resource resource) {
      return giveBytesBack(c, instance_, resource, bytes, at_);
    });
  }

 private:
  Taken(const Books& books, Uploader uploader, const std::string& instance)
      : books_(books), uploader_(uploader), instance_(instance), at_(books.clock.now()) {}

  // In all that these bytes count as. What a power cut may lose of it is less than what waiting for the disk
  // would cost each upload.
  template <class F>
  Status change(F of) {
    KILN_ASSIGN(auto connection, books_.database.acquire());
    return connection->transact([&](postgres::Connection& c) -> Status {
      KILN_TRY(c.execute("SET LOCAL synchronous_commit = off"));
      if (uploader_ == Uploader::kClient) KILN_TRY(of(c, Resource::kUploadedBytes));
      return of(c, Resource::kStoredBytes);
    });
  }

  const Books books_;
  const Uploader uploader_;
  const std::string instance_;
  const TimePoint at_;
  std::int64_t bytes_ = 0;
};

class CountedStore::Writer final : public BlobWriter {
 public:
  Writer(std::unique_ptr<BlobWriter> inner, std::unique_ptr<Taken> taken)
      : taken_(std::move(taken)), inner_(std::move(inner)) {}
  Status write(Bytes bytes) override { return inner_->write(bytes); }
  Status commit() override {
    KILN_TRY(inner_->commit());
    taken_->keep();
    return {};
  }

 private:
  const std::unique_ptr<Taken> taken_;
  const std::unique_ptr<BlobWriter> inner_;
};

bool CountedStore::isCounted(const std::string& instance) const {
  const Quota quota = books_.quotas.current()->of(instance);
  return quota.storedBytes || quota.uploadedBytesPerHour;
}

Result<std::unique_ptr<BlobWriter>> CountedStore::beginWrite(const std::string& instance,
                                                             const Digest& digest) {
  if (!isCounted(instance)) return base_.beginWrite(instance, digest);
  KILN_ASSIGN(const bool present, storage::hasBlob(base_, instance, digest));
  if (present) return base_.beginWrite(instance, digest);
  KILN_ASSIGN(auto taken, Taken::take(books_, uploader_, instance, static_cast<std::int64_t>(digest.size)));
  KILN_ASSIGN(auto writer, base_.beginWrite(instance, digest));
  return std::make_unique<Writer>(std::move(writer), std::move(taken));
}

std::vector<Status> CountedStore::putBatch(const std::string& instance, std::span<const BlobBytes> blobs) {
  if (!isCounted(instance)) return base_.putBatch(instance, blobs);
  std::vector<Digest> digests;
  for (const BlobBytes& blob : blobs) digests.push_back(blob.digest);
  const auto missing = base_.findMissing(instance, digests);
  if (!missing) return std::vector<Status>(blobs.size(), fail(missing.error()));
  std::int64_t bytes = 0;
  std::set<Digest> unstored(missing->begin(), missing->end());
  for (const Digest& digest : unstored) bytes += static_cast<std::int64_t>(digest.size);
  const auto taken = Taken::take(books_, uploader_, instance, bytes);
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
