// Uploading many blobs: only what is missing, small ones together.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "storage/blob/blob_store.h"

namespace kiln::storage {

// One blob to have in the store, from a file or from memory.
struct UploadItem {
  Digest digest;
  std::string path;   // read from here unless empty
  std::string bytes;  // else these
};

struct UploadProgress {
  std::uint64_t doneBytes = 0;  // of the missing ones
  std::uint64_t totalBytes = 0;
  std::size_t doneBlobs = 0;
  std::size_t totalBlobs = 0;
};
using UploadObserver = std::function<void(const UploadProgress&)>;

// Makes sure that every item is in the store. Items may repeat. `observer` (optional) is called from this
// thread after each step, the first time before any byte is sent; a large file is many steps. Returns the
// final progress. kInvalidArgument names a file that changed since it was hashed.
Result<UploadProgress> uploadMissing(BlobStore& store, const std::string& instance,
                                     std::span<const UploadItem> items, const UploadObserver& observer = {});

}  // namespace kiln::storage
