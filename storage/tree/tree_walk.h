// Walking a Merkle tree that came from outside: everything is checked and bounded before anything is done
// with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/blob/blob_store.h"

namespace kiln::storage {

struct TreeLimits {
  std::size_t depth = 64;
  std::size_t entries = 100'000;  // files, directories and symlinks in all; a shared subtree counts each time
  std::uint64_t directoryBytes = 4 << 20;  // of one Directory message
  std::uint64_t totalBytes = 16ull << 30;  // of all files
  // Of the Directory messages that are entered, and of the entries' paths; a shared subtree counts each time.
  // Few bytes in a store may name very many.
  std::uint64_t walkedBytes = 128 << 20;
  std::size_t pathBytes = 1024;  // of one path, as of checkRelativePath()
};

enum class EntryKind { kFile, kDirectory, kSymlink };

struct TreeEntry {
  std::string path;  // relative to the root
  EntryKind kind = EntryKind::kFile;
  Digest digest;            // of a file's content or of the Directory message
  bool executable = false;  // files
  std::string target;       // symlinks
};

// Walks that stay within the same limits all together, and read each Directory once. Not thread safe; the
// store has to outlive it.
class TreeWalker {
 public:
  // Whether nobody waits for the walk any more. Asked at each Directory that is entered.
  using Stopped = std::function<bool()>;

  TreeWalker(BlobStore& store, std::string instance, TreeLimits limits, Stopped stopped = {})
      : store_(store), instance_(std::move(instance)), limits_(limits), stopped_(std::move(stopped)) {}

  // As walkTree(); kCancelled once it is stopped.
  Result<std::vector<TreeEntry>> walk(const Digest& root);
  // As findMissingInTree(); kCancelled once it is stopped. A Directory is named by the first of the walks
  // that lacks it.
  Result<std::vector<Digest>> findMissing(const Digest& root);

 private:
  // What a Directory holds, without what only its digest needs. An entry's path is its name.
  struct Listing {
    bool gone = false;  // the store lacks it
    std::size_t bytes = 0;
    std::vector<TreeEntry> entries;
  };
  struct Place {
    std::string path;
    std::size_t depth = 0;
  };
  using Visit = std::function<void(TreeEntry entry)>;

  Status enter(const Digest& digest, const Place& place, const Visit& visit);
  Result<const Listing*> load(const Digest& digest, const Place& place);
  // Reads the directories that stand `depth` deep in one directory with one call, as far as they are small.
  // What that does not bring is loaded by itself, with its own error.
  void loadTogether(const Listing& directory, std::size_t depth);
  Status add(const TreeEntry& listed, const Place& place, const Visit& visit);
  Status count(std::size_t bytes);

  BlobStore& store_;
  const std::string instance_;
  const TreeLimits limits_;
  const Stopped stopped_;
  std::vector<Digest>* missing_ = nullptr;  // of the walk under way
  std::unordered_map<Digest, Listing, DigestHash> loaded_;
  std::size_t entries_ = 0;
  std::uint64_t totalBytes_ = 0, walkedBytes_ = 0;
};

// Every entry below `root`, each directory before what is in it. kInvalidArgument for a tree that is not
// canonical, escapes or has too long a path (the message names the beginning of the path), kOutOfRange beyond
// another limit, kNotFound if a Directory is missing. Whether the files' blobs are there is not looked at.
Result<std::vector<TreeEntry>> walkTree(BlobStore& store, const std::string& instance, const Digest& root,
                                        const TreeLimits& limits = {});

// The digests that the tree needs and the store lacks: Directories that could not be entered, those damaged
// and put aside among them, and files.
Result<std::vector<Digest>> findMissingInTree(BlobStore& store, const std::string& instance,
                                              const Digest& root, const TreeLimits& limits = {});

}  // namespace kiln::storage
