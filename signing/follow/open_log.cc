#include "signing/follow/bucket_log.h"
#include "signing/follow/http_log.h"
#include "signing/follow/log_source.h"
#include "signing/follow/tile_directory.h"

namespace kiln::signing {
namespace {

class DirectoryLog final : public LogSource {
 public:
  explicit DirectoryLog(std::string directory) : where_(directory), tiles_(std::move(directory)) {}
  const std::string& where() const override { return where_; }
  Result<std::string> read(const TilePath& path) override { return tiles_.read(path); }
  Result<std::string> checkpoint() override { return tiles_.checkpoint(); }

 private:
  const std::string where_;
  TileDirectory tiles_;
};

}  // namespace

std::unique_ptr<LogSource> openLogSource(const std::string& where, HttpCredentials credentials) {
  if (where.starts_with("http://") || where.starts_with("https://"))
    return openHttpLog(where, std::move(credentials));
  if (where.starts_with("s3://")) return std::make_unique<BucketLog>(where);
  return std::make_unique<DirectoryLog>(where);
}

}  // namespace kiln::signing
