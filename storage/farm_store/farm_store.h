// The blob store of a farm, as --store names it: a directory, or s3://BUCKET/PREFIX (storage/s3/location.h),
// whose references lie in the farm's database.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "manifest/base/mutex.h"
#include "storage/blob/blob_store.h"
#include "storage/blob/direct_transfers.h"
#include "storage/blob/sweep.h"
#include "storage/postgres/connection.h"

namespace kiln::storage {

struct FarmStoreOptions {
  std::string place;                     // a directory, or an s3:// URL
  bool readOnly = false;                 // nothing is written, swept or condemned
  postgres::ConnectionOptions database;  // of the farm; looked at for s3:// only
  std::string cache;                     // a directory for what was read of a bucket; "" for none
  std::uint64_t cacheBytes = std::uint64_t{4} << 30;
};

// Whether the place is a bucket, which several machines may share.
bool isShared(const std::string& place);
// kInvalidArgument for an s3:// URL that is none, and for a cache of a directory.
Status checkStorePlace(const std::string& place, const std::string& cache);

// Thread safe. What is not there yet when a process starts (the directory of a reader, the database's tables,
// the bucket's server) is opened when it is first needed, and until then every call is kFailedPrecondition or
// kUnavailable. Callers that come while it is being opened wait, and share what comes of it.
class FarmStore final : public BlobStore, public BlobSweeper, public DirectTransfers {
 public:
  // A directory to write to is opened, or made, at once. kUnauthenticated without credentials for a bucket.
  static Result<std::unique_ptr<FarmStore>> open(const FarmStoreOptions& options);
  ~FarmStore() override;

  Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) override;
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const ByteSink& sink) override;
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override;
  std::vector<Status> putBatch(const std::string& instance, std::span<const BlobBytes> blobs) override;
  Result<SweepReport> sweep(const NeededBlobs& needed, const SweepOptions& options) override;
  Result<BlobRoute> locate(const std::string& instance, const Digest& digest) override;
  Result<BlobRoute> beginUpload(const std::string& instance, const Digest& digest) override;
  Status finishUpload(const std::string& instance, const Digest& digest, const std::string& upload) override;

  // What stands behind it.
  struct Opened;

 private:
  using Opener = std::function<Result<std::shared_ptr<Opened>>()>;
  explicit FarmStore(Opener opener) : opener_(std::move(opener)) {}
  Result<std::shared_ptr<Opened>> opened() KILN_EXCLUDES(mutex_);
  // kUnimplemented for a directory. Valid as long as the store.
  Result<DirectTransfers*> transfers();

  const Opener opener_;
  Mutex mutex_;
  std::shared_ptr<Opened> opened_ KILN_GUARDED_BY(mutex_);
  std::optional<Error> failed_ KILN_GUARDED_BY(mutex_);  // what came of the last attempt
  TimePoint failedAt_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::storage
