#include "storage/blob/local_sweep.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "storage/blob/instance_name.h"

namespace kiln::storage {
namespace {

using Hashes = NeededBlobs::Hashes;

// Removals per hold of the store's lock: uploads wait for no longer than this takes.
constexpr std::size_t kBatch = 64;

// Calls `each` with the name of every entry; entries that come and go meanwhile may or may not be among them.
template <class F>
Status forEntries(const std::string& path, F each) {
  std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) return errno == ENOENT || errno == ENOTDIR ? Status() : fail(errnoError(errno, path));
  errno = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") KILN_TRY(each(std::string(name)));
    errno = 0;
  }
  return errno == 0 ? Status() : fail(errnoError(errno, path));
}

class Sweep {
 public:
  Sweep(const StoreDirectory& directory, const SweepOptions& options, TimePoint now,
        const std::function<void(const Digest&)>& removed)
      : directory_(directory),
        options_(options),
        oldest_(now - options.grace - StoreDirectory::kTouchAfter),
        removed_(removed) {}

  Result<SweepReport> run(const NeededBlobs& needed) {
    std::map<std::string, const Hashes*> byDirectory;
    for (const auto& [instance, hashes] : needed.byInstance()) {
      KILN_ASSIGN(std::string name, instanceDirectoryName(instance));
      byDirectory[name] = &hashes;
    }
    const std::string references = directory_.root() + "/refs";
    KILN_TRY(forEntries(references, [&](const std::string& name) -> Status {
      instances_.push_back(references + "/" + name);
      static const Hashes none;
      auto found = byDirectory.find(name);
      const auto instance = instanceOfDirectory(name);
      referred_ = instance ? &report_.referredBytes[*instance] : nullptr;
      return sweepReferences(instances_.back(), found == byDirectory.end() ? none : *found->second);
    }));
    const std::string blobs = directory_.root() + "/blobs";
    KILN_TRY(forEntries(blobs, [&](const std::string& shard) { return sweepBlobs(blobs + "/" + shard); }));
    return report_;
  }

 private:
  // True for a file whose last change is beyond the grace period.
  bool isOld(const std::string& path, struct stat& file) const {
    if (::lstat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return false;
    return modifiedAt(file) < oldest_;
  }

  Status remove(const std::string& path) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail(errnoError(errno, path));
    return {};
  }

  void keepReference(const Digest& blob) {
    kept_.insert(blob.hash);
    struct stat file{};
    if (referred_ && ::lstat(directory_.blobPath(blob).c_str(), &file) == 0 && S_ISREG(file.st_mode))
      *referred_ += static_cast<std::uint64_t>(file.st_size);
  }

  Status sweepReferences(const std::string& instance, const Hashes& needed) {
    std::vector<std::string> batch;
    KILN_TRY(forEntries(instance, [&](const std::string& name) -> Status {
      auto digest = Digest::parse(name, 0);
      if (!digest || name.size() != 64) return {};
      struct stat file{};
      if (needed.contains(digest->hash)) {
        ++report_.neededReferences;
        keepReference(*digest);
      } else if (!isOld(instance + "/" + name, file)) {
        ++report_.youngReferences;
        keepReference(*digest);
      } else {
        batch.push_back(name);
      }
      return batch.size() < kBatch ? Status() : removeReferences(instance, batch);
    }));
    return removeReferences(instance, batch);
  }

  // Looked at again under the lock: who was told that a blob is there has touched its reference before.
  Status removeReferences(const std::string& instance, std::vector<std::string>& names) {
    if (names.empty()) return {};
    KILN_ASSIGN(UniqueFd lock, directory_.lockNames(StoreDirectory::Sharing::kExclusive));
    for (const std::string& name : names) {
      struct stat file{};
      if (!isOld(instance + "/" + name, file)) {
        ++report_.youngReferences;
        keepReference(*Digest::parse(name, 0));
        continue;
      }
      ++report_.removedReferences;
      if (options_.dryRun) continue;
      KILN_TRY(remove(instance + "/" + name));
      options_.reached(kPointReferenceRemoved);
    }
    names.clear();
    return {};
  }

  Status sweepBlobs(const std::string& shard) {
    std::vector<std::string> batch;
    KILN_TRY(forEntries(shard, [&](const std::string& name) -> Status {
      auto digest = Digest::parse(name, 0);
      if (!digest || name.size() != 64) return {};
      struct stat file{};
      const bool old = isOld(shard + "/" + name, file);
      if (!old || kept_.contains(digest->hash)) {
        keep(file);
        return {};
      }
      batch.push_back(name);
      return batch.size() < kBatch ? Status() : removeBlobs(shard, batch);
    }));
    return removeBlobs(shard, batch);
  }

  void keep(const struct stat& file) {
    ++report_.keptBlobs;
    report_.keptBytes += static_cast<std::uint64_t>(file.st_size);
  }

  bool isReferenced(const std::string& name) const {
    for (const std::string& instance : instances_)
      if (::access((instance + "/" + name).c_str(), F_OK) == 0) return true;
    return false;
  }

  // A reference that came since, or one by an instance that is new: under the lock there are no others.
  Status removeBlobs(const std::string& shard, std::vector<std::string>& names) {
    if (names.empty()) return {};
    KILN_ASSIGN(UniqueFd lock, directory_.lockNames(StoreDirectory::Sharing::kExclusive));
    KILN_TRY(listInstances());
    for (const std::string& name : names) {
      struct stat file{};
      const bool old = isOld(shard + "/" + name, file);
      if (!old || (!options_.dryRun && isReferenced(name))) {
        keep(file);
        continue;
      }
      ++report_.removedBlobs;
      report_.removedBytes += static_cast<std::uint64_t>(file.st_size);
      if (options_.dryRun) continue;
      KILN_TRY(remove(shard + "/" + name));
      removed_(*Digest::parse(name, static_cast<std::uint64_t>(file.st_size)));
      options_.reached(kPointBlobRemoved);
    }
    names.clear();
    return {};
  }

  Status listInstances() {
    instances_.clear();
    const std::string references = directory_.root() + "/refs";
    return forEntries(references, [&](const std::string& name) -> Status {
      instances_.push_back(references + "/" + name);
      return {};
    });
  }

  const StoreDirectory& directory_;
  const SweepOptions& options_;
  const TimePoint oldest_;
  const std::function<void(const Digest&)>& removed_;
  std::vector<std::string> instances_;  // their directories of references
  Hashes kept_;                         // referred to by some instance after the first half
  std::uint64_t* referred_ = nullptr;   // of the instance whose references are looked at
  SweepReport report_;
};

}  // namespace

std::size_t NeededBlobs::HashOf::operator()(const Hash& hash) const {
  std::size_t out = 0;  // already uniform
  std::copy_n(hash.begin(), sizeof out, reinterpret_cast<std::uint8_t*>(&out));
  return out;
}

std::size_t NeededBlobs::size() const {
  std::size_t total = 0;
  for (const auto& [instance, hashes] : byInstance_) total += hashes.size();
  return total;
}

Result<SweepReport> sweepDirectory(const StoreDirectory& directory, const NeededBlobs& needed,
                                   const SweepOptions& options, TimePoint now,
                                   const std::function<void(const Digest&)>& removed) {
  return Sweep(directory, options, now, removed).run(needed);
}

}  // namespace kiln::storage
