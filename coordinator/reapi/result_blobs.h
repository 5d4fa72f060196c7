// The blobs that an ActionResult names, with those that its Trees name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/blob/blob_store.h"
#include "storage/tree/digest_proto.h"

namespace kiln::reapi_cache {

struct ResultLimits {
  std::size_t blobs = 1'000'000;           // that are named, Trees' files included
  std::size_t directoryEntries = 100'000;  // of all root Directories together
  std::uint64_t treeBytes = 16 << 20;      // of one Tree
  std::uint64_t allTrees = 64 << 20;       // of all of them
};

// Those that the store lacks: at most 100; of a Tree or root Directory that is not whole, that one. What is
// there stays for the grace of the next collections of garbage. kInvalidArgument, naming the output, for a
// result that names no digest where there must be one, or a Tree that is none or beyond a limit; else errors
// of the store.
Result<std::vector<Digest>> missingBlobs(storage::BlobStore& blobs, const std::string& instance,
                                         const reapi::ActionResult& result, const ResultLimits& limits = {});

}  // namespace kiln::reapi_cache
