// REAPI Directory messages in their canonical form: members sorted by name, each name a single segment and
// unique, no unknown fields. One set of files then has exactly one digest.
#pragma once

#include <string>
#include <string_view>

#include "storage/tree/digest_proto.h"

namespace kiln::storage {

// A name that may stand in a Directory: 1 to 255 bytes of UTF-8 without '/' and control characters, not "."
// or "..".
Status checkName(std::string_view name);

// A symlink's target may not leave the tree: relative, ".." only at its front and at most `depth` times,
// where `depth` is the number of directories above the link (0 in the root).
Status checkSymlinkTarget(std::string_view target, std::size_t depth);

// Bytes of a Directory from outside: kInvalidArgument unless they are the canonical form. `depth` as above.
Result<reapi::Directory> parseDirectory(std::string_view bytes, std::size_t depth);

// Sorts the members and serialises. The names must have been checked.
std::string serialiseDirectory(reapi::Directory directory);

}  // namespace kiln::storage
