// What people may call a source on the command line.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::cli {

// As the farm's index has it: a digest or a commit stay as they are, and so does a URL ("git+https://...")
// but for what git+file has with spaces and letters beyond ASCII, which is escaped as `kiln build` does. Of a
// file here it is the digest. kNotFound for any other text, since no statement records the name of a local
// file.
Result<std::string> sourceName(const std::string& text);

}  // namespace kiln::cli
