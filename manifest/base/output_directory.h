// A folder that a user named for results, held open: whoever puts another in its place, or a link or a FIFO
// under the name of a result, changes nothing.
#pragma once

#include <string>

#include "manifest/base/file.h"

namespace kiln {

// Thread safe.
class OutputDirectory {
 public:
  // Makes it, and what is missing above it, with mode 0755 less the umask. kInvalidArgument if the last part
  // of `path` is a symbolic link or no folder.
  static Result<OutputDirectory> open(const std::string& path);

  // Writes the file `name` (no slash in it, mode 0644 less the umask): one that is there is replaced once
  // the new one is complete, and a signal leaves no part of it. kAlreadyExists if what is there is no regular
  // file; it is left as it is.
  Status write(const std::string& name, Bytes bytes) const;

 private:
  OutputDirectory(std::string path, UniqueFd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}

  std::string path_;
  UniqueFd directory_;
};

}  // namespace kiln
