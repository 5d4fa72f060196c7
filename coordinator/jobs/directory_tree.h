// Builds REAPI Directory trees: canonical (names sorted by bytes, no duplicates), so a tree has one digest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coordinator/jobs/digests.h"

namespace kiln::jobs {

struct TreeFile {
  std::string path;  // relative, "/" between components
  Digest digest;
  bool executable = false;
};

// A ready subtree put at `path` (one component).
struct TreeMount {
  std::string path;
  Digest directory;
};

struct Tree {
  Digest root;
  std::map<Digest, std::string> directories;  // serialised Directory messages, the root among them
};

// kInvalidArgument if a path is unsafe (absolute, "..", empty components) or given twice, or is both a file
// and a directory. No files and no mounts make the empty directory.
Result<Tree> buildTree(const std::vector<TreeFile>& files, const std::vector<TreeMount>& mounts = {});

}  // namespace kiln::jobs
