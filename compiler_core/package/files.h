// Files of an artifact being written.
#pragma once

#include <string>

#include "manifest/base/digest.h"

namespace kiln::package {

// Creates `directory` and missing parents; fine if it exists.
Status makeDirectory(const std::string& directory);

// Writes a new file of mode 0644, replacing an old one, and returns the digest of what was written. The error
// names the path; a full disk is kResourceExhausted.
Result<Digest> writeFile(const std::string& path, Bytes bytes);

}  // namespace kiln::package
