// StoreDirectory: the local store's layout on disk and its start-up.
//
//   format                     "kiln-blob-store 1\n"
//   lock                       flock'd while a process starts up
//   names.lock                 flock'd shared while a blob is named or found present, exclusively by a sweep
//   blobs/<2 hex>/<64 hex>     the bytes, mode 0444, named by their SHA-256
//   refs/<instance>/<64 hex>   empty: that instance may see the blob; modified when it was last uploaded or
//                              said to be there
//   tmp/<random>/              one per open store, flock'd while it lives; unfinished writes. Whatever else
//                              lies in tmp/ belongs to nobody and goes at the next open
// A blob or reference of mode 0400 may have a name that is not durable yet: nobody is told that it is there
// before both directories were synced.
//   quarantine/<64 hex>.<random>       blobs whose bytes no longer had their hash
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <unordered_set>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/base/file.h"
#include "manifest/base/mutex.h"
#include "manifest/base/result.h"

namespace kiln::storage {

inline TimePoint modifiedAt(const struct stat& file) {
  return TimePoint(std::chrono::seconds(file.st_mtim.tv_sec) +
                   std::chrono::microseconds(file.st_mtim.tv_nsec / 1000));
}

// Thread safe. Several processes may have one directory open; files that a crashed one left in tmp/ go at the
// next open.
class StoreDirectory {
 public:
  // Creates what is missing unless `readOnly`; then a directory that is not a store is kNotFound. A store of
  // a newer format is kFailedPrecondition.
  static Result<std::unique_ptr<StoreDirectory>> open(const std::string& root, bool readOnly);
  ~StoreDirectory();

  const std::string& root() const { return root_; }
  std::string blobShard(const Digest& digest) const;
  std::string blobPath(const Digest& digest) const;
  std::string quarantinePath(const Digest& digest);
  // Moves what lies at `path`, the place of a blob or a reference, into the quarantine if it is no regular
  // file.
  void clear(const std::string& path);
  // A new name in this process's own part of tmp/.
  std::string tempPath();
  Result<std::string> referenceDirectory(const std::string& instance) const;
  Result<std::string> referencePath(const std::string& instance, const Digest& digest) const;
  // Makes sure that the directories which blobs of this instance go to exist and are durable themselves.
  Status prepare(const std::string& instance);
  // A reference is touched when it is older than this, so that asking often costs nothing; a sweep waits for
  // as much longer.
  static constexpr Duration kTouchAfter = std::chrono::seconds(60);

  // Between those who name blobs, or promise that they are there, and a sweep. Held until the descriptor is
  // closed.
  enum class Sharing { kShared, kExclusive };
  Result<UniqueFd> lockNames(Sharing sharing) const;

  // Bytes of all blobs; reads every shard.
  Result<std::uint64_t> usedBytes() const;

 private:
  explicit StoreDirectory(std::string root) : root_(std::move(root)) {}
  Status create();
  Status startTemp();
  Status prepareDirectory(const std::string& path) KILN_REQUIRES(mutex_);
  Status prepareShards() KILN_REQUIRES(mutex_);
  Status checkFormat() const;
  void removeAbandonedTemp() const;

  std::string root_;
  std::string tempDirectory_;
  UniqueFd tempLock_;
  Mutex mutex_;
  std::uint64_t nextName_ KILN_GUARDED_BY(mutex_) = 0;
  std::unordered_set<std::string> prepared_ KILN_GUARDED_BY(mutex_);  // durable directories
  bool shardsPrepared_ KILN_GUARDED_BY(mutex_) = false;               // likewise all of blobs/
};

}  // namespace kiln::storage
