// The paths of an artifact's files: unique, none inside another, none that the artifact directory uses
// itself.
#pragma once

#include <set>
#include <string>

#include "manifest/base/result.h"

namespace kiln {

class PathSet {
 public:
  // kInvalidArgument if a directory could not hold `path` beside those added before, or if it is
  // "artifact.json", "manifest.json", or below "bundles/" or "fixtures/". `path` has been checked to be
  // relative and safe.
  Status add(const std::string& path);

 private:
  std::set<std::string> files_, directories_;
};

}  // namespace kiln
