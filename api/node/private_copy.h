// A copy of an artifact directory in a directory of mode 0700, removed when the object ends.
#pragma once

#include <memory>
#include <string>

#include "manifest/base/result.h"
#include "manifest/base/scratch_directory.h"

namespace kiln::node {

class PrivateCopy {
 public:
  // An empty one.
  static Result<std::shared_ptr<PrivateCopy>> create();
  // What belongs to an artifact, no file longer than artifact.json or fixtures.json says it is, and holes as
  // holes: the copy takes no more room than the original does, whatever sizes are claimed. Other files are
  // left out, and a file of several names is copied once. kDataLoss for links, special files, longer files,
  // fixtures outside their list, more bundles than an artifact may have, and more than 100,000 files.
  static Result<std::shared_ptr<PrivateCopy>> of(const std::string& directory);

  const std::string& path() const { return directory_.path(); }

 private:
  explicit PrivateCopy(ScratchDirectory directory) : directory_(std::move(directory)) {}
  ScratchDirectory directory_;
};

}  // namespace kiln::node
