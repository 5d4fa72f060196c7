// Files moved into and out of a backup, hashed on the way.
#pragma once

#include <string>

#include "manifest/base/digest.h"

namespace kiln::storage {

enum class Transfer {
  kCopy,
  kHardLink,  // same file system only; the backup then shares the store's bytes
};

// A new file at `to` with `mode` (kHardLink: the original's), and what it holds. kAlreadyExists if there is
// one, kFailedPrecondition if a link cannot cross file systems. Not synced.
Result<Digest> transferFile(const std::string& from, const std::string& to, unsigned mode, Transfer how);

// Everything written below `directory` so far is durable.
Status syncFileSystem(const std::string& directory);

}  // namespace kiln::storage
