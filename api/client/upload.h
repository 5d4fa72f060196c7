// Uploading files and directory trees to the farm's store: hash first, ask what is missing, send only that.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"
#include "storage/blob/blob_store.h"

namespace kiln::client {

struct UploadReport {
  int files = 0, sent = 0;  // `sent` of `files` were missing
  std::uint64_t bytes = 0;  // of those sent
};

// Uploads regular files; the digests are in the order of `paths`. kFailedPrecondition if a file changes
// meanwhile.
Result<std::vector<Digest>> uploadFiles(storage::BlobStore& store, const std::string& instance,
                                        const std::vector<std::string>& paths, UploadReport& report);

// Uploads a directory as a REAPI Merkle tree; returns the root Directory's digest. Executable bits are kept.
// Symbolic links must be relative and stay inside; anything but files, directories and links is refused by
// name.
Result<Digest> uploadTree(storage::BlobStore& store, const std::string& instance,
                          const std::string& directory, UploadReport& report);

}  // namespace kiln::client
