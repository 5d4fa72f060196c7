// From a directory on disk to a Merkle tree in a store.
#pragma once

#include <string>

#include "storage/blob/upload.h"
#include "storage/tree/tree_builder.h"

namespace kiln::storage {

// Reads names, modes and hashes of everything below `directory`: regular files (executable if their owner may
// execute them), directories and symlinks; anything else is kInvalidArgument naming it. `items` receives what
// the tree consists of.
Result<Digest> scanTree(const std::string& directory, std::vector<UploadItem>& items);

// scanTree(), then uploads what is missing. The digest of the root Directory.
Result<Digest> uploadTree(BlobStore& store, const std::string& instance, const std::string& directory,
                          const UploadObserver& observer = {});

}  // namespace kiln::storage
