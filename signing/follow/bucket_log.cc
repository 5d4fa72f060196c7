#include "signing/follow/bucket_log.h"

#include "signing/follow/tile_limits.h"

namespace kiln::signing {

Result<std::shared_ptr<s3::Client>> openLogBucket(const std::string& url) {
  s3::ClientOptions options;
  KILN_ASSIGN(options.location, s3::Location::parse(url));
  KILN_ASSIGN(options.credentials,
              s3::defaultCredentials(options.location.profile, s3::processEnvironment()));
  return std::make_shared<s3::Client>(std::move(options));
}

Result<std::string> readTile(s3::Client& bucket, const TilePath& path) {
  auto found = bucket.fetch(path.text(), kMaxTileBytes);
  if (found) return std::move(found->bytes);
  if (path.isFull() || found.error().code != Code::kNotFound) return fail(found.error());
  KILN_ASSIGN(const s3::Fetched full, bucket.fetch(path.full().text(), kMaxTileBytes));
  return cutTile(full.bytes, path.full(), path.width);
}

Result<std::string> BucketLog::read(const TilePath& path) {
  KILN_TRY(bucket_);
  return readTile(**bucket_, path);
}

Result<std::string> BucketLog::checkpoint() {
  KILN_TRY(bucket_);
  KILN_ASSIGN(s3::Fetched found, (*bucket_)->fetch("checkpoint", kMaxNoteBytes));
  return std::move(found.bytes);
}

}  // namespace kiln::signing
