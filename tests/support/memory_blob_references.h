// References of a blob store in memory, for tests. Thread safe.
#pragma once

#include <map>
#include <set>

#include "manifest/base/mutex.h"
#include "storage/blob/blob_references.h"

namespace kiln::testing_support {

class MemoryBlobReferences final : public storage::BlobReferences {
 public:
  explicit MemoryBlobReferences(std::string id = std::string(32, '0')) : id_(std::move(id)) {}

  Result<Identity> identity() override {
    const MutexLock lock(mutex_);
    return Identity{id_, !generations_.empty()};
  }
  Result<std::vector<std::uint32_t>> generations(std::span<const Digest> digests) override {
    const MutexLock lock(mutex_);
    std::vector<std::uint32_t> out;
    for (const Digest& digest : digests) out.push_back(generationOf(digest));
    return out;
  }
  Result<std::vector<bool>> add(const std::string& instance, std::span<const storage::PlacedBlob> blobs,
                                TimePoint now) override {
    const MutexLock lock(mutex_);
    std::vector<bool> out;
    for (const auto& [digest, generation] : blobs) {
      generations_.try_emplace(digest, 0);
      out.push_back(generation == generationOf(digest));
      if (out.back()) references_[{instance, digest}] = {generation, ++uploads_, now};
    }
    return out;
  }
  Result<std::vector<std::optional<std::uint32_t>>> find(const std::string& instance,
                                                         std::span<const Digest> digests, TimePoint now,
                                                         bool promised) override {
    const MutexLock lock(mutex_);
    std::vector<std::optional<std::uint32_t>> out;
    for (const Digest& digest : digests) {
      const auto found = references_.find({instance, digest});
      const bool counts = found != references_.end() && found->second.generation == generationOf(digest);
      out.push_back(counts ? std::optional(found->second.generation) : std::nullopt);
      if (counts && promised) found->second.promised = now;
    }
    return out;
  }
  Result<Standing> standing(const Digest& digest) override {
    const MutexLock lock(mutex_);
    return Standing{generationOf(digest), uploadsOf(digest)};
  }
  Result<bool> condemn(const Digest& digest, const Standing& standing) override {
    const MutexLock lock(mutex_);
    if (generationOf(digest) != standing.generation || uploadsOf(digest) > standing.uploads) return false;
    ++generations_[digest];
    return true;
  }

 private:
  struct Reference {
    std::uint32_t generation;
    std::int64_t upload;
    TimePoint promised;
  };
  std::uint32_t generationOf(const Digest& digest) const KILN_REQUIRES(mutex_) {
    const auto found = generations_.find(digest);
    return found == generations_.end() ? 0 : found->second;
  }
  std::int64_t uploadsOf(const Digest& digest) const KILN_REQUIRES(mutex_) {
    std::int64_t most = 0;
    for (const auto& [key, reference] : references_)
      if (key.second == digest) most = std::max(most, reference.upload);
    return most;
  }

  const std::string id_;
  Mutex mutex_;
  std::map<Digest, std::uint32_t> generations_ KILN_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, Digest>, Reference> references_ KILN_GUARDED_BY(mutex_);
  std::int64_t uploads_ KILN_GUARDED_BY(mutex_) = 0;
};

}  // namespace kiln::testing_support
