// From a Merkle tree in a store to a directory on disk.
#pragma once

#include <string>

#include "storage/tree/tree_walk.h"

namespace kiln::storage {

// Makes `directory`, which must not exist (kAlreadyExists), with the tree's content: files 0444 or 0555 by
// their executable bit, directories 0755, every mtime 1, all owned by the caller; bytes verified by the
// store. A failure leaves nothing. Not synced to disk. Errors as walkTree(), and kNotFound for a missing
// file.
Status materialiseTree(BlobStore& store, const std::string& instance, const Digest& root,
                       const std::string& directory, const TreeLimits& limits = {});

}  // namespace kiln::storage
