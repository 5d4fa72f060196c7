#include "worker/executor/tree_cache.h"

#include <fmt/format.h>
#include <fts.h>
#include <sys/stat.h>

#include "storage/tree/materialise.h"
#include "worker/sandbox/outputs.h"

namespace kiln::executor {
namespace {

int byName(const FTSENT** a, const FTSENT** b) {
  return std::string_view((*a)->fts_name).compare((*b)->fts_name);
}

struct Stamp {
  std::string
      facts;  // a digest over the paths and inode facts: what a write, chmod, rename or link would change
  std::uint64_t bytes = 0;  // of the files
};

Stamp stampOf(const std::string& path) {
  Hasher hasher;
  std::uint64_t bytes = 0;
  std::string copy = path;
  char* paths[] = {copy.data(), nullptr};
  std::unique_ptr<FTS, int (*)(FTS*)> walk(fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, byName), fts_close);
  while (FTSENT* entry = walk ? fts_read(walk.get()) : nullptr) {
    if (entry->fts_info == FTS_DP) continue;
    const struct stat& s = *entry->fts_statp;
    if (S_ISREG(s.st_mode)) bytes += static_cast<std::uint64_t>(s.st_size);
    hasher.update(asBytes(fmt::format("{}\n{} {} {} {} {} {} {} {} {}\n", entry->fts_path, s.st_ino,
                                      s.st_mode, s.st_uid, s.st_nlink, s.st_size, s.st_mtim.tv_sec,
                                      s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec)));
  }
  return {hasher.finish().hex(), bytes};
}

}  // namespace

Result<std::shared_ptr<const TreeCache::Tree>> TreeCache::get(storage::BlobStore& store,
                                                              const std::string& instance,
                                                              const Digest& root) {
  MutexLock lock(mutex_);
  auto found = entries_.find(root);
  while (found != entries_.end() && !found->second.tree) {
    changed_.wait(mutex_);
    found = entries_.find(root);
  }
  if (found != entries_.end()) {
    if (stampOf(found->second.tree->path).facts == found->second.stamp) {
      found->second.lastUse = ++clock_;
      ++uses_.hits;
      return found->second.tree;
    }
    (void)sandbox::removeTree(found->second.tree->path);
    entries_.erase(found);
  }
  entries_[root];  // claimed: others wait
  ++uses_.misses;
  const std::string path = fmt::format("{}/{}-{}", dir_, root.hex(), ++serial_);
  lock.unlock();
  const Status written = storage::materialiseTree(store, instance, root, path);
  Stamp stamp = written ? stampOf(path) : Stamp{};
  lock.lock();
  changed_.notifyAll();
  if (!written) {
    entries_.erase(root);
    return fail(written.error().in("toolchain"));
  }
  auto tree = std::make_shared<const Tree>(Tree{path, stamp.bytes});
  entries_[root] = {tree, std::move(stamp.facts), ++clock_};
  evict();
  return tree;
}

void TreeCache::evict() {
  while (true) {
    std::uint64_t total = 0;
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (!entry->second.tree) continue;
      total += entry->second.tree->bytes;
      const bool unused = entry->second.tree.use_count() == 1;
      if (unused && (oldest == entries_.end() || entry->second.lastUse < oldest->second.lastUse))
        oldest = entry;
    }
    if (total <= limitBytes_ || oldest == entries_.end()) return;
    (void)sandbox::removeTree(oldest->second.tree->path);
    entries_.erase(oldest);
  }
}

TreeCache::Uses TreeCache::uses() const {
  const MutexLock lock(mutex_);
  return uses_;
}

std::vector<std::string> TreeCache::held() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [digest, entry] : entries_) {
    if (entry.tree) names.push_back(digest.hex());
  }
  return names;
}

}  // namespace kiln::executor
