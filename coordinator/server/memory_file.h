// A file without a place on disk, for libraries that want a path.
#pragma once

#include <string>

#include "manifest/base/file.h"
#include "manifest/base/result.h"

namespace kiln::server {

// Not thread safe. Its path is good within this process for as long as it lives.
class MemoryFile {
 public:
  static Result<MemoryFile> create(const std::string& text);
  // Whoever opens the path from now on reads all of the new text; who has it open, all of the old.
  Status replace(const std::string& text);
  std::string path() const;

 private:
  explicit MemoryFile(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace kiln::server
