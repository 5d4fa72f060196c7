// Writing a REAPI Directory tree to disk for an action to read.
#pragma once

#include <cstdint>
#include <string>

#include "storage/blob/blob_store.h"

namespace kiln::executor {

struct TreeLimits {
  std::uint64_t entries = 65536;  // files and directories
  std::uint64_t depth = 32;
  std::uint64_t bytes = 64ull << 30;       // of all files
  std::uint64_t directoryBytes = 4 << 20;  // of one Directory message
};

struct TreeRequest {
  std::string instance;
  Digest root;
  std::string
      keepApart;  // a directory directly below the root that is made empty instead of filled; may be ""
};

struct TreeFacts {
  std::uint64_t files = 0, bytes = 0;
  bool foundApart = false;
  Digest apart;  // of the directory kept apart
};

// Fills `path`, which must not exist. Files get mode 0444 or 0555, directories 0555, all mtime 1 (one second
// after the epoch), owned by this process's user; every file's bytes match its digest. On failure nothing is
// left at `path`. kInvalidArgument, naming the entry, for a Directory that is not canonical (names out of
// order, twice, with "/" or
// "..") or has symbolic links; kResourceExhausted beyond `limits`; the store's errors otherwise, with the
// path.
Result<TreeFacts> writeTree(storage::BlobStore& store, const TreeRequest& request, const std::string& path,
                            const TreeLimits& limits = {});

// Sets access and modification time to 1, so that no tool sees when its inputs were written.
Status setOldTime(const std::string& path);

}  // namespace kiln::executor
