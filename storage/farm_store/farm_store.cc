#include "storage/farm_store/farm_store.h"

#include <algorithm>

#include "manifest/base/steady_clock.h"
#include "storage/blob/cached_blob_store.h"
#include "storage/blob/local_blob_store.h"
#include "storage/index/blobs/blob_references.h"
#include "storage/postgres/pool.h"
#include "storage/s3/s3_blob_store.h"

namespace kiln::storage {

// Members stand in the order in which each needs those above it.
struct FarmStore::Opened {
  std::unique_ptr<postgres::Pool> database;
  std::unique_ptr<index::PostgresBlobReferences> references;
  std::unique_ptr<LocalBlobStore> local;
  std::unique_ptr<s3::S3BlobStore> bucket;
  std::unique_ptr<CachedBlobStore> cached;
  BlobStore* blobs = nullptr;
  BlobSweeper* sweeper = nullptr;
};

namespace {

using Opened = FarmStore::Opened;

constexpr std::size_t kSessions = 8;  // beside those of the rest of the program

Result<std::shared_ptr<Opened>> openDirectory(const FarmStoreOptions& options) {
  auto out = std::make_shared<Opened>();
  auto local = LocalBlobStore::open({.directory = options.place, .readOnly = options.readOnly});
  if (!local && options.readOnly && local.error().code == Code::kNotFound)
    return fail(Code::kFailedPrecondition,
                options.place + ": no blob store yet; it is made when the farm stores its first blob");
  if (!local) return fail(local.error());
  out->local = std::move(*local);
  out->blobs = out->local.get();
  out->sweeper = out->local.get();
  return out;
}

Result<std::shared_ptr<Opened>> openBucket(const FarmStoreOptions& options, const s3::ClientOptions& client) {
  auto out = std::make_shared<Opened>();
  out->database = std::make_unique<postgres::Pool>(options.database, kSessions);
  out->references = std::make_unique<index::PostgresBlobReferences>(*out->database);
  s3::S3BlobStoreOptions bucket;
  bucket.client = client;
  bucket.readOnly = options.readOnly;
  auto opened = s3::S3BlobStore::open(bucket, *out->references);
  // PostgreSQL's "undefined_table": this process was quicker than the one that migrates the database.
  if (!opened && opened.error().message.find("42P01") != std::string::npos)
    return fail(Code::kUnavailable, "the farm's database is not migrated yet; try again shortly");
  if (!opened) return fail(opened.error());
  out->bucket = std::move(*opened);
  out->blobs = out->bucket.get();
  out->sweeper = out->bucket.get();
  if (options.cache.empty()) return out;
  KILN_ASSIGN(out->cached, CachedBlobStore::open(
                               *out->bucket, {.directory = options.cache, .capacity = options.cacheBytes}));
  out->blobs = out->cached.get();
  return out;
}

}  // namespace

bool isShared(const std::string& place) {
  return place.starts_with("s3://");
}

Status checkStorePlace(const std::string& place, const std::string& cache) {
  if (!isShared(place) && !cache.empty())
    return fail(Code::kInvalidArgument, "a cache goes with s3:// only; " + place + " is a directory already");
  if (!isShared(place)) return {};
  if (auto location = s3::Location::parse(place); !location) return fail(location.error());
  return {};
}

Result<std::unique_ptr<FarmStore>> FarmStore::open(const FarmStoreOptions& options) {
  KILN_TRY(checkStorePlace(options.place, options.cache));
  if (isShared(options.place)) {
    s3::ClientOptions client;
    KILN_ASSIGN(client.location, s3::Location::parse(options.place));
    KILN_ASSIGN(client.credentials,
                s3::defaultCredentials(client.location.profile, s3::processEnvironment()));
    return std::unique_ptr<FarmStore>(
        new FarmStore([options, client] { return openBucket(options, client); }));
  }
  std::unique_ptr<FarmStore> store(new FarmStore([options] { return openDirectory(options); }));
  if (!options.readOnly) KILN_TRY(store->opened());
  return store;
}

FarmStore::~FarmStore() = default;

Result<std::shared_ptr<Opened>> FarmStore::opened() {
  const SteadyClock clock;
  const TimePoint came = clock.now();
  const MutexLock lock(mutex_);
  if (opened_) return opened_;
  if (failed_ && failedAt_ >= came) return fail(*failed_);
  auto opened = opener_();
  if (opened) {
    opened_ = std::move(*opened);
    return opened_;
  }
  failed_ = opened.error();
  failedAt_ = clock.now();
  return fail(*failed_);
}

Result<std::unique_ptr<BlobWriter>> FarmStore::beginWrite(const std::string& instance, const Digest& digest) {
  KILN_ASSIGN(const auto store, opened());
  return store->blobs->beginWrite(instance, digest);
}

Status FarmStore::read(const std::string& instance, const Digest& digest, std::uint64_t offset,
                       std::uint64_t length, const ByteSink& sink) {
  KILN_ASSIGN(const auto store, opened());
  return store->blobs->read(instance, digest, offset, length, sink);
}

Result<std::vector<Digest>> FarmStore::findMissing(const std::string& instance,
                                                   std::span<const Digest> digests) {
  KILN_ASSIGN(const auto store, opened());
  return store->blobs->findMissing(instance, digests);
}

std::vector<Status> FarmStore::putBatch(const std::string& instance, std::span<const BlobBytes> blobs) {
  const auto store = opened();
  if (!store) return std::vector<Status>(blobs.size(), fail(store.error()));
  return (*store)->blobs->putBatch(instance, blobs);
}

Result<SweepReport> FarmStore::sweep(const NeededBlobs& needed, const SweepOptions& options) {
  KILN_ASSIGN(const auto store, opened());
  return store->sweeper->sweep(needed, options);
}

Result<DirectTransfers*> FarmStore::transfers() {
  KILN_ASSIGN(const auto store, opened());
  if (!store->bucket)
    return fail(Code::kUnimplemented, "this farm's blobs lie in a directory, and go through the coordinator");
  return store->bucket.get();
}

Result<BlobRoute> FarmStore::locate(const std::string& instance, const Digest& digest) {
  KILN_ASSIGN(DirectTransfers * direct, transfers());
  return direct->locate(instance, digest);
}

Result<BlobRoute> FarmStore::beginUpload(const std::string& instance, const Digest& digest) {
  KILN_ASSIGN(DirectTransfers * direct, transfers());
  return direct->beginUpload(instance, digest);
}

Status FarmStore::finishUpload(const std::string& instance, const Digest& digest, const std::string& upload) {
  KILN_ASSIGN(DirectTransfers * direct, transfers());
  return direct->finishUpload(instance, digest, upload);
}

}  // namespace kiln::storage
