// ValidationCache: which files were hashed recently and have not been touched since, so that hot reads do not
// rehash.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <list>
#include <unordered_map>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/base/mutex.h"

namespace kiln::storage {

// Thread safe. Holds at most `entries`, the least recently used leaving first. An entry is believed for `ttl`
// and only while device, inode, size, mtime and ctime of the file are what they were: the bound on undetected
// decay of the medium.
class ValidationCache {
 public:
  ValidationCache(std::size_t entries, Duration ttl, const Clock& clock);

  bool isValid(const Digest& digest, const struct stat& file);
  void remember(const Digest& digest, const struct stat& file);
  void forget(const Digest& digest);

 private:
  struct Entry {
    Digest digest;
    dev_t device;
    ino_t inode;
    std::int64_t modified;  // nanoseconds
    std::int64_t changed;
    TimePoint checked;
  };
  const std::size_t capacity_;
  const Duration ttl_;
  const Clock& clock_;
  Mutex mutex_;
  std::list<Entry> order_ KILN_GUARDED_BY(mutex_);  // most recent first
  std::unordered_map<Digest, std::list<Entry>::iterator, DigestHash> entries_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::storage
