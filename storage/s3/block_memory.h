// BlockMemory: the digests of a blob's blocks, so that a range of a blob that was verified once is verified
// without reading all of it again.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/mutex.h"

namespace kiln::s3 {

inline constexpr std::uint64_t kBlockBytes = 1 << 20;

// SHA-256 of each 1 MiB of a blob, the last may be shorter.
using BlockDigests = std::vector<std::array<std::uint8_t, 32>>;

// Thread safe. Holds digests of at most `blocks` blocks, those of the blob least recently used leaving first.
class BlockMemory {
 public:
  explicit BlockMemory(std::size_t blocks) : capacity_(blocks) {}

  std::shared_ptr<const BlockDigests> find(const Digest& blob) KILN_EXCLUDES(mutex_);
  // `digests` were taken of bytes that had the blob's digest.
  void remember(const Digest& blob, BlockDigests digests) KILN_EXCLUDES(mutex_);

 private:
  struct Entry {
    Digest blob;
    std::shared_ptr<const BlockDigests> digests;
  };
  const std::size_t capacity_;
  Mutex mutex_;
  std::size_t held_ KILN_GUARDED_BY(mutex_) = 0;
  std::list<Entry> order_ KILN_GUARDED_BY(mutex_);  // most recent first
  std::unordered_map<Digest, std::list<Entry>::iterator, DigestHash> entries_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::s3
