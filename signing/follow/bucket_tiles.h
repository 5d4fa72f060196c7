// A log's public files in a bucket: objects "checkpoint", "checkpoint.staged" and "tile/…" below the URL's
// prefix.
//
// Whoever sequences holds the database's lock and its newest epoch. One that has lost them without noticing,
// because it was stopped in between, changes nothing here either: tiles are put under If-None-Match, and are
// then what they have to be or an error; checkpoints under If-Match with what was there when this one began
// or last wrote. Servers that know no conditions leave a moment in which an earlier checkpoint comes back
// until the next append.
#pragma once

#include <map>
#include <set>

#include "signing/follow/bucket_log.h"
#include "signing/follow/tile_writer.h"

namespace kiln::signing {

// kFailedPrecondition: another sequencer has written meanwhile. Partial tiles that a full one has replaced
// are removed by the process that wrote them; some stay when another takes over.
class BucketTiles final : public TileWriter {
 public:
  // Looks what is there. Errors of openLogBucket() and Client.
  static Result<std::unique_ptr<TileWriter>> open(const std::string& url);
  static Result<std::unique_ptr<TileWriter>> open(std::shared_ptr<s3::Client> bucket);

  Result<std::string> read(const TilePath& path) override { return readTile(*bucket_, path); }
  Status takeOver() override;
  Result<std::string> checkpoint() const override;
  TimePoint publishedAt() const override { return published_.modified; }
  Status write(const TileMap& tiles) override;
  Status stage(const std::string& note) override { return replace(kStaged, note, staged_); }
  std::optional<std::string> staged() const override;
  Status publish(const std::string& note) override { return replace(kCheckpoint, note, published_); }
  void prune(const TileMap& tiles) override;

 private:
  static constexpr char kCheckpoint[] = "checkpoint", kStaged[] = "checkpoint.staged";

  explicit BucketTiles(std::shared_ptr<s3::Client> bucket) : bucket_(std::move(bucket)) {}
  Status look(const char* key, s3::Fetched& known);
  Status replace(const char* key, const std::string& note, s3::Fetched& known);
  Status writeOne(const std::string& key, const std::string& bytes);

  const std::shared_ptr<s3::Client> bucket_;
  s3::Fetched published_, staged_;  // as this one saw or wrote them; no etag: there is none
  std::set<TilePath> partial_;      // that this one wrote
};

}  // namespace kiln::signing
