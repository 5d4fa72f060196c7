// Walking a Merkle tree that came from outside: everything is checked and bounded before anything is done
// with it.
#pragma once

#include <cstdint>
#include <string>
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
};

enum class EntryKind { kFile, kDirectory, kSymlink };

struct TreeEntry {
  std::string path;  // relative to the root
  EntryKind kind = EntryKind::kFile;
  Digest digest;            // of a file's content or of the Directory message
  bool executable = false;  // files
  std::string target;       // symlinks
};

// Every entry below `root`, each directory before what is in it. kInvalidArgument for a tree that is not
// canonical or escapes (the message names the path), kOutOfRange beyond a limit, kNotFound if a Directory is
// missing. Whether the files' blobs are there is not looked at.
Result<std::vector<TreeEntry>> walkTree(BlobStore& store, const std::string& instance, const Digest& root,
                                        const TreeLimits& limits = {});

// The digests that the tree needs and the store lacks: Directories that could not be entered, those damaged
// and put aside among them, and files.
Result<std::vector<Digest>> findMissingInTree(BlobStore& store, const std::string& instance,
                                              const Digest& root, const TreeLimits& limits = {});

}  // namespace kiln::storage
