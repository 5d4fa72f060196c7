// Relative paths that are safe to join below a directory on any system.
#pragma once

#include <string_view>

#include "manifest/base/result.h"

namespace kiln {

// kInvalidArgument unless `path` is non-empty UTF-8 of at most 1024 bytes, relative, with no empty, "." or
// ".." component and no control character or backslash.
Status checkRelativePath(std::string_view path);

}  // namespace kiln
