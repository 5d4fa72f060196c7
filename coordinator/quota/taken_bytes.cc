#include "coordinator/quota/taken_bytes.h"

namespace kiln::quota {

bool Books::count(const std::string& instance) const {
  const Quota quota = quotas.current()->of(instance);
  return quota.storedBytes || quota.uploadedBytesPerHour;
}

Result<std::unique_ptr<TakenBytes>> TakenBytes::take(const Books& books, Uploader uploader,
                                                     const std::string& instance, std::int64_t bytes) {
  std::unique_ptr<TakenBytes> out(new TakenBytes(books, uploader, instance));
  const Quota quota = uploader == Uploader::kClient ? books.quotas.current()->of(instance) : Quota();
  KILN_TRY(out->change([&](postgres::Connection& c, Resource resource) {
    return takeBytes(c, quota, instance, resource, bytes, out->at_);
  }));
  out->bytes_ = bytes;
  return out;
}

void TakenBytes::giveBack(std::int64_t bytes) {
  if (bytes == 0) return;
  bytes_ -= bytes;
  (void)change([&](postgres::Connection& c, Resource resource) {
    return giveBytesBack(c, instance_, resource, bytes, at_);
  });
}

// In all that these bytes count as. What a power cut may lose of it is less than what waiting for the disk
// would cost each upload.
Status TakenBytes::change(const std::function<Status(postgres::Connection&, Resource)>& of) const {
  KILN_ASSIGN(auto connection, books_.database.acquire());
  return connection->transact([&](postgres::Connection& c) -> Status {
    KILN_TRY(c.execute("SET LOCAL synchronous_commit = off"));
    if (uploader_ == Uploader::kClient) KILN_TRY(of(c, Resource::kUploadedBytes));
    return of(c, Resource::kStoredBytes);
  });
}

}  // namespace kiln::quota
