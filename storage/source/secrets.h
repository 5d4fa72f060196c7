// Git credentials from a file, so that they stand on no command line and in no environment of a child.
#pragma once

#include <string>

#include "storage/source/git_fetch.h"

namespace kiln::source {

// A file of lines "NAME=value" (blank lines and lines beginning with '#' are skipped):
//   token=…  user=…  ssh-key=PATH  ssh-passphrase=…  ssh-host-key=SHA256:…   (the last may repeat)
// kPermissionDenied if others than its owner may read it; kInvalidArgument names the line, never its value.
Result<GitCredentials> readGitCredentials(const std::string& path);

}  // namespace kiln::source
