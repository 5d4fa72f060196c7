// Bytes on their way to S3, kept until the server has them: a request may have to be sent again.
#pragma once

#include <string>

#include "manifest/base/file.h"
#include "storage/s3/transport.h"

namespace kiln::s3 {

// In memory up to 1 MiB, beyond that in a file of `directory` that has no name. Not thread safe.
class Spool {
 public:
  explicit Spool(std::string directory) : directory_(std::move(directory)) {}

  // kResourceExhausted if the directory's disk is full; errors of files name the directory.
  Status append(Bytes bytes);
  std::uint64_t size() const { return size_; }
  // Valid until the next append().
  Body body() const;

 private:
  Status openFile();

  const std::string directory_;
  std::vector<std::uint8_t> memory_;
  UniqueFd file_;
  std::uint64_t size_ = 0;
};

}  // namespace kiln::s3
