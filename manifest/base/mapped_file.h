// A file mapped read-only. What is read from it are views, so it lives as long as any of them.
#pragma once

#include <memory>
#include <string>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln {

class MappedFile {
 public:
  // Maps a regular file. Errors name `path`: kNotFound, kPermissionDenied, kInvalidArgument for what is no
  // regular file.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  // As open, for a file already open; takes the descriptor over. `name` is for errors.
  static Result<std::shared_ptr<const MappedFile>> fromDescriptor(int descriptor, const std::string& name);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Bytes bytes() const { return bytes_; }

 private:
  explicit MappedFile(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};

}  // namespace kiln
