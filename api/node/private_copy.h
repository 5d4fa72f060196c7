// A copy of an artifact directory in a directory of mode 0700, removed when the object ends.
#pragma once

#include <memory>
#include <string>

#include "manifest/base/result.h"

namespace kiln::node {

class PrivateCopy {
 public:
  // An empty one.
  static Result<std::shared_ptr<PrivateCopy>> create();
  // What belongs to an artifact, no file longer than artifact.json or fixtures.json says it is, and holes as
  // holes: the copy takes no more room than the original does, whatever sizes are claimed. Other files are
  // left out. kDataLoss for links, special files, longer files, fixtures outside their list, and more than
  // 100,000 files.
  static Result<std::shared_ptr<PrivateCopy>> of(const std::string& directory);
  ~PrivateCopy();
  PrivateCopy(const PrivateCopy&) = delete;
  PrivateCopy& operator=(const PrivateCopy&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit PrivateCopy(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace kiln::node
