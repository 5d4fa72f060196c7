// Toolchain trees on disk, by digest: written once, bound read-only into any number of actions.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "manifest/base/mutex.h"
#include "storage/blob/blob_store.h"

namespace kiln::executor {

// Thread safe. Holds what this process wrote and nothing older: a tree found on disk at start is not trusted.
class TreeCache {
 public:
  // `dir` exists and is empty. Trees that no action uses are dropped, least recently used first, while all
  // together hold more than `limitBytes`.
  TreeCache(std::string dir, std::uint64_t limitBytes) : dir_(std::move(dir)), limitBytes_(limitBytes) {}

  struct Tree {
    std::string path;
    std::uint64_t bytes = 0;
  };

  // The tree, kept on disk as long as the pointer lives. Several callers for one digest wait for one
  // download. Before a tree is used again every file's inode, size, mode and times are compared with those of
  // the first writing; a tree that was touched is written anew. Errors as of storage::materialiseTree.
  Result<std::shared_ptr<const Tree>> get(storage::BlobStore& store, const std::string& instance,
                                          const Digest& root);

  // Digests of the trees that are there, in hex.
  std::vector<std::string> held() const;

  struct Uses {
    std::uint64_t hits = 0;    // calls of get() that found the tree, or waited for somebody else's download
    std::uint64_t misses = 0;  // that fetched it, whether or not that succeeded
  };
  Uses uses() const;

 private:
  struct Entry {
    std::shared_ptr<const Tree> tree;
    std::string stamp;
    std::uint64_t lastUse = 0;
  };
  void evict() KILN_REQUIRES(mutex_);

  const std::string dir_;
  const std::uint64_t limitBytes_;
  mutable Mutex mutex_;
  Condition changed_;
  std::map<Digest, Entry> entries_ KILN_GUARDED_BY(mutex_);  // a null tree: being written
  std::uint64_t clock_ KILN_GUARDED_BY(mutex_) = 0;
  std::uint64_t serial_ KILN_GUARDED_BY(mutex_) = 0;
  Uses uses_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::executor
