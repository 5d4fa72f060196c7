// Opening and listing directories that a hostile tool made.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/file.h"
#include "manifest/base/result.h"

namespace kiln::sandbox {

// The directory `name` of the open directory `at` (or of AT_FDCWD), never through a link; errno where there
// is none.
UniqueFd openDirectory(int at, const char* name);

// At most `limit` names of an open directory, without "." and "..", in no order.
Result<std::vector<std::string>> listNames(int directory, std::size_t limit);

}  // namespace kiln::sandbox
