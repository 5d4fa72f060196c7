// The documents of the batch API: what is asked for, and where it is to be had.
// Source: the Git LFS specification, docs/api/batch.md and docs/api/basic-transfers.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"
#include "storage/lfs/large_file.h"

namespace kiln::lfs {

inline constexpr std::string_view kBatchType = "application/vnd.git-lfs+json";
// An answer is no longer than this.
inline constexpr std::size_t kMaxBatchBytes = 4 << 20;

// Where one object is to be had. Both parts may hold secrets: neither belongs into a message.
struct Download {
  std::string href;
  std::vector<std::string> headers;  // "Name: value", to send along
  bool authorizes = false;           // the headers have an Authorization
};

// The request for the objects of `files`, of which there are some, by the basic transfer.
Result<std::string> batchRequest(std::span<const LargeFile> files);

// One download for each of `files`, in their order. An object that is there twice among them is answered
// once. Reads hostile text: errors name the file, and of what the server says no more than its message, cut.
// kNotFound, kPermissionDenied for an object that the server does not have or give; kUnimplemented for
// another transfer or hash; kUnavailable where the server says that it is in trouble; kDataLoss for what is
// no such answer, or is of another size.
Result<std::vector<Download>> readBatch(std::string_view answer, std::span<const LargeFile> files);

}  // namespace kiln::lfs
