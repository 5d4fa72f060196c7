#include "signing/follow/bucket_tiles.h"

#include "signing/follow/tile_limits.h"

namespace kiln::signing {

using s3::Body;
using s3::Fetched;

Result<std::unique_ptr<TileWriter>> BucketTiles::open(const std::string& url) {
  KILN_ASSIGN(auto bucket, openLogBucket(url));
  return open(std::move(bucket));
}

Result<std::unique_ptr<TileWriter>> BucketTiles::open(std::shared_ptr<s3::Client> bucket) {
  std::unique_ptr<BucketTiles> tiles(new BucketTiles(std::move(bucket)));
  KILN_TRY(tiles->takeOver());
  return tiles;
}

Status BucketTiles::takeOver() {
  KILN_TRY(look(kCheckpoint, published_));
  return look(kStaged, staged_);
}

Status BucketTiles::look(const char* key, Fetched& known) {
  auto found = bucket_->fetch(key, kMaxNoteBytes);
  if (found) known = std::move(*found);
  if (!found && found.error().code != Code::kNotFound) return fail(found.error());
  return {};
}

Result<std::string> BucketTiles::checkpoint() const {
  if (published_.etag.empty()) return fail(Code::kNotFound, "the log has no checkpoint yet");
  return published_.bytes;
}

std::optional<std::string> BucketTiles::staged() const {
  if (staged_.etag.empty()) return std::nullopt;
  return staged_.bytes;
}

Status BucketTiles::replace(const char* key, const std::string& note, Fetched& known) {
  if (!known.etag.empty() && known.bytes == note) return {};
  auto replaced = bucket_->replace(key, Body::of(asBytes(note)), digestOf(note), known.etag);
  if (replaced) {
    known = {note, *replaced, SystemClock().now()};
    return {};
  }
  if (replaced.error().code != Code::kAlreadyExists) return fail(replaced.error());
  // An attempt whose answer was lost may have been this one's own.
  KILN_TRY(look(key, known));
  if (known.bytes == note) return {};
  return fail(Code::kFailedPrecondition,
              bucket_->location().text() + key + ": another kiln-log has written it meanwhile");
}

Status BucketTiles::writeOne(const std::string& key, const std::string& bytes) {
  const Status put = bucket_->put(key, Body::of(asBytes(bytes)), digestOf(bytes), s3::Existing::kRefuse);
  if (put || put.error().code != Code::kAlreadyExists) return put;
  KILN_ASSIGN(const Fetched there, bucket_->fetch(key, kMaxTileBytes));
  if (there.bytes == bytes) return {};
  return fail(Code::kDataLoss, bucket_->location().text() + key +
                                   ": holds another tile than the log's; find out why, then remove it");
}

Status BucketTiles::write(const TileMap& tiles) {
  for (const auto& [path, bytes] : tiles) {
    KILN_TRY(writeOne(path.text(), bytes));
    if (!path.isFull()) partial_.insert(path);
  }
  return {};
}

void BucketTiles::prune(const TileMap& tiles) {
  for (auto at = partial_.begin(); at != partial_.end();) {
    if (!tiles.contains(at->full())) {
      ++at;
      continue;
    }
    static_cast<void>(bucket_->remove(at->text()));
    at = partial_.erase(at);
  }
}

}  // namespace kiln::signing
