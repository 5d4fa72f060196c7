// A log's public files as objects of a bucket, named as C2SP tlog-tiles names them below the URL's prefix.
#pragma once

#include <memory>

#include "signing/follow/log_source.h"
#include "storage/s3/client.h"

namespace kiln::signing {

// Of the log at s3://BUCKET/PREFIX, with the credentials of this process's environment. Thread safe.
Result<std::shared_ptr<s3::Client>> openLogBucket(const std::string& url);

// The bytes of a tile. Where a partial one is not there, what the full one begins with.
Result<std::string> readTile(s3::Client& bucket, const TilePath& path);

// Reading. Thread safe. A URL that is none, and credentials that are not there, show with the first read.
class BucketLog final : public LogSource {
 public:
  explicit BucketLog(const std::string& url) : where_(url), bucket_(openLogBucket(url)) {}
  const std::string& where() const override { return where_; }
  Result<std::string> read(const TilePath& path) override;
  Result<std::string> checkpoint() override;

 private:
  const std::string where_;
  const Result<std::shared_ptr<s3::Client>> bucket_;
};

}  // namespace kiln::signing
