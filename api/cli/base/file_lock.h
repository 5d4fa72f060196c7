// For commands that read a file, change it and put it back: two of them at once would each leave out what the
// other one did.
#pragma once

#include <string>

#include "manifest/base/file.h"

namespace kiln::cli {

// Waits, and says so, while another kiln changes something in the folder of `path`; others wait as long as
// this is held.
Result<UniqueFd> lockForUpdate(const std::string& path);

}  // namespace kiln::cli
