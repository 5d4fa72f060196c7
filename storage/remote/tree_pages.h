// A tree of Directories in pages, as GetTree of the CAS gives it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "storage/blob/blob_store.h"
#include "storage/remote/wire_limits.h"
#include "storage/tree/digest_proto.h"

namespace kiln::storage {

struct TreePageLimits {
  std::size_t directories = 100'000;  // different ones
  std::size_t depth = 64;
  std::uint64_t bytes = 128 << 20;  // of all Directory messages
  std::size_t page = 1000;          // Directories of one page, at most; kMaxBatchBytes bound it too
};

struct TreePages {
  Digest root;
  std::int32_t pageSize = 0;  // 0: as many as a page may have
  std::string token;          // "": from the beginning
};

// Gives the tree's Directories to `send`, the root first, each once however often it occurs, level by level.
// Each page but the last names a token, after which another call goes on: it says how many Directories came
// before, and is good for this root alone. A call reads all that comes before it.
// kNotFound names a Directory that is missing; kInvalidArgument for one that is none (storage/tree) or a
// token that was never given; kOutOfRange beyond a limit; else the errors of `send`.
Status sendTree(BlobStore& store, const std::string& instance, const TreePages& wanted,
                const std::function<Status(const reapi::GetTreeResponse&)>& send,
                const TreePageLimits& limits = {});

}  // namespace kiln::storage
