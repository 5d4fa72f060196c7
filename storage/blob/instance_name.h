// Instance names as directory names.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::storage {

// A file name that only this instance has: letters, digits, '_' and '-' stay, all else becomes %XX, after a
// leading "i-". kInvalidArgument for more than 64 bytes or control characters. The empty instance is a valid
// one.
Result<std::string> instanceDirectoryName(const std::string& instance);

}  // namespace kiln::storage
