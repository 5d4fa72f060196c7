// What Git LFS leaves in a commit in the place of a large file.
// Source: the Git LFS specification, docs/spec.md, "The Pointer".
#pragma once

#include <optional>
#include <string_view>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::lfs {

// A pointer is shorter than this; what is longer is a file of its own, whatever it begins with.
inline constexpr std::size_t kMaxPointerBytes = 1024;

// The object that `text` stands for; nothing if `text` does not begin as a pointer does, and is the file
// itself. kInvalidArgument, with exitCode 3 in the details, for what begins so and is none: lines that lack,
// come twice or are out of order, another hash, a size that is no number. kUnimplemented for extensions,
// whose programs would have to turn the object into the file.
Result<std::optional<Digest>> readPointer(std::string_view text);

}  // namespace kiln::lfs
