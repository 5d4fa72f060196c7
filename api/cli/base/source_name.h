// What people may call a source on the command line.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::cli {

// As the farm's index has it: a digest, a URL ("git+https://...") or a commit stay as they are, and of a file
// here it is the digest. kNotFound for any other text, since no statement records the name of a local file.
Result<std::string> sourceName(const std::string& text);

}  // namespace kiln::cli
