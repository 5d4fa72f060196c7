// CachedBlobStore: what was read from a store that is far away is read again from a directory here.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "manifest/base/clock.h"
#include "manifest/base/file.h"
#include "manifest/base/mutex.h"
#include "storage/blob/blob_store.h"
#include "storage/blob/validation_cache.h"

namespace kiln::storage {

struct CacheOptions {
  std::string directory;                            // made if it is not there; one process at a time
  std::uint64_t capacity = std::uint64_t{4} << 30;  // bytes of blobs; those least recently read leave
  const Clock* clock = nullptr;                     // null: the system's; must outlive the store
};

// Thread safe. Blobs of at most a quarter of the capacity are kept, each in a file that is named by its
// digest and size. Every byte that leaves is of a file that hashed to its name within ten minutes and was not
// touched since; one that does not hash is removed and fetched again. So nothing in the directory is trusted,
// and nothing is synced: what a crash leaves is right or goes. Who may read is asked of `inner` each time.
// Several readers of one blob that is not there fetch it once. Writes are passed on, and so are reads when
// the directory fails.
class CachedBlobStore final : public BlobStore {
 public:
  // `inner` must outlive it. kUnavailable while another process has the directory.
  static Result<std::unique_ptr<CachedBlobStore>> open(BlobStore& inner, const CacheOptions& options);

  Result<std::unique_ptr<BlobWriter>> beginWrite(const std::string& instance, const Digest& digest) override;
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const ByteSink& sink) override;
  Result<std::vector<Digest>> findMissing(const std::string& instance,
                                          std::span<const Digest> digests) override;
  std::vector<Status> putBatch(const std::string& instance, std::span<const BlobBytes> blobs) override;

 private:
  struct Flight;
  CachedBlobStore(BlobStore& inner, const CacheOptions& options, UniqueFd lock);
  Status scan();
  std::string pathOf(const Digest& digest) const;
  // The file of a blob whose bytes hash; nothing if there is none.
  UniqueFd find(const Digest& digest) KILN_EXCLUDES(mutex_);
  // Has the blob in its file, by this thread or by another that is at it already. False: it is to be read
  // past the cache.
  bool fetch(const std::string& instance, const Digest& digest) KILN_EXCLUDES(mutex_);
  Status fill(const std::string& instance, const Digest& digest);
  bool isGood(const Digest& digest, int file);
  void keep(const Digest& digest) KILN_REQUIRES(mutex_);
  void drop(const Digest& digest) KILN_REQUIRES(mutex_);

  BlobStore& inner_;
  const std::string directory_;
  const std::uint64_t capacity_;
  const UniqueFd lock_;
  ValidationCache validated_;
  Mutex mutex_;
  std::uint64_t held_ KILN_GUARDED_BY(mutex_) = 0;   // bytes
  std::list<Digest> order_ KILN_GUARDED_BY(mutex_);  // most recent first
  std::unordered_map<Digest, std::list<Digest>::iterator, DigestHash> entries_ KILN_GUARDED_BY(mutex_);
  std::map<Digest, std::shared_ptr<Flight>> flights_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::storage
