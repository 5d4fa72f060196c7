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
    return Identity{id_, !blobs_.empty()};
  }
  Result<std::vector<std::uint32_t>> begin(std::span<const Digest> digests, TimePoint now) override {
    const MutexLock lock(mutex_);
    std::vector<std::uint32_t> out;
    for (const Digest& digest : digests) {
      blobs_[digest].begun = now;
      out.push_back(generationOf(digest));
    }
    return out;
  }
  Result<std::vector<bool>> add(const std::string& instance, std::span<const storage::PlacedBlob> blobs,
                                TimePoint now) override {
    const MutexLock lock(mutex_);
    std::vector<bool> out;
    for (const auto& [digest, generation] : blobs) {
      blobs_[digest].begun = now;
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
  Result<bool> condemn(const Digest& digest, const Standing& standing, TimePoint now) override {
    const MutexLock lock(mutex_);
    if (generationOf(digest) != standing.generation || uploadsOf(digest) > standing.uploads) return false;
    ++blobs_[digest].generation;
    blobs_[digest].begun = now;
    condemned_[{digest, standing.generation}] = {now + kKeepCorrupt, true};
    return true;
  }
  Result<std::vector<HeldBlob>> list(const std::optional<Digest>& after, std::size_t most) override {
    const MutexLock lock(mutex_);
    std::vector<HeldBlob> out;
    for (const auto& [digest, blob] : blobs_) {
      if (!blob.begun || (after && !(*after < digest))) continue;
      if (out.size() == most) break;
      out.push_back({{digest, blob.generation}, *blob.begun, {}});
      for (const auto& [key, reference] : references_)
        if (key.second == digest)
          out.back().holders.push_back(
              {key.first, reference.promised, reference.generation == blob.generation});
    }
    return out;
  }
  Result<Released> release(std::span<const Unneeded> blobs, TimePoint oldest, TimePoint now) override {
    const MutexLock lock(mutex_);
    Released out;
    for (const auto& [digest, instances] : blobs) {
      for (const std::string& instance : instances) {
        const auto found = references_.find({instance, digest});
        if (found == references_.end() || found->second.promised >= oldest) continue;
        references_.erase(found);
        ++out.references;
      }
      Blob& blob = blobs_[digest];
      if (uploadsOf(digest) != 0 || !blob.begun || *blob.begun >= oldest) continue;
      condemned_[{digest, blob.generation++}] = {now, false};
      blob.begun.reset();
      out.blobs.push_back(digest);
    }
    return out;
  }
  Result<std::vector<storage::PlacedBlob>> due(TimePoint now, std::size_t most) override {
    const MutexLock lock(mutex_);
    std::vector<storage::PlacedBlob> out;
    for (const auto& [object, condemned] : condemned_)
      if (condemned.due <= now && out.size() < most) out.push_back({object.first, object.second});
    return out;
  }
  Status removed(std::span<const storage::PlacedBlob> objects, TimePoint again) override {
    const MutexLock lock(mutex_);
    for (const auto& [digest, generation] : objects) {
      const auto found = condemned_.find({digest, generation});
      if (found == condemned_.end()) continue;
      if (found->second.isLast)
        condemned_.erase(found);
      else
        found->second = {again, true};
    }
    return {};
  }
  Result<std::optional<Digest>> scrubbedTo() override {
    const MutexLock lock(mutex_);
    return scrubbed_;
  }
  Status scrubTo(const std::optional<Digest>& digest) override {
    const MutexLock lock(mutex_);
    scrubbed_ = digest;
    return {};
  }

 private:
  struct Reference {
    std::uint32_t generation;
    std::int64_t upload;
    TimePoint promised;
  };
  struct Blob {
    std::uint32_t generation = 0;
    std::optional<TimePoint> begun;
  };
  struct Condemned {
    TimePoint due;
    bool isLast;
  };
  std::uint32_t generationOf(const Digest& digest) const KILN_REQUIRES(mutex_) {
    const auto found = blobs_.find(digest);
    return found == blobs_.end() ? 0 : found->second.generation;
  }
  std::int64_t uploadsOf(const Digest& digest) const KILN_REQUIRES(mutex_) {
    std::int64_t most = 0;
    for (const auto& [key, reference] : references_)
      if (key.second == digest) most = std::max(most, reference.upload);
    return most;
  }

  const std::string id_;
  Mutex mutex_;
  std::map<Digest, Blob> blobs_ KILN_GUARDED_BY(mutex_);
  std::map<std::pair<Digest, std::uint32_t>, Condemned> condemned_ KILN_GUARDED_BY(mutex_);
  std::optional<Digest> scrubbed_ KILN_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, Digest>, Reference> references_ KILN_GUARDED_BY(mutex_);
  std::int64_t uploads_ KILN_GUARDED_BY(mutex_) = 0;
};

}  // namespace kiln::testing_support
