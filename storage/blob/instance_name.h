// Instance names as directory names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::storage {

// The instance of whoever names none.
inline constexpr char kDefaultInstance[] = "default";

// At most 64 bytes of UTF-8, all of which can be seen: what printable() would change is no name, since
// somebody could take it for another one. kInvalidArgument says what is wrong. The empty instance is a valid
// one.
Status checkInstanceName(std::string_view instance);

// A file name that only this instance has: letters, digits, '_' and '-' stay, all else becomes %XX, after a
// leading "i-". kInvalidArgument as of checkInstanceName().
Result<std::string> instanceDirectoryName(const std::string& instance);
// The instance whose directory has this name; nothing for any other name.
std::optional<std::string> instanceOfDirectory(std::string_view name);

}  // namespace kiln::storage
