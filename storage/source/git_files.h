// What lies in the directories of a repository on this machine, before libgit2 opens any of it.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::source {

// Absolute, links resolved.
struct RepositoryFiles {
  std::string git;      // the repository, or of a worktree the part that is its own
  std::string common;   // what worktrees share: objects, branches and tags; elsewhere the same as `git`
  std::string objects;  // in `common`, or where a link from there leads
};

// `directory` is a working tree's root, with a directory or file .git, or a bare repository. Looks at no more
// than a million names. kNotFound where there is nothing; kDataLoss for a FIFO or a device in the place of a
// file, which would be waited for or never end, and for a configuration that includes other files;
// kUnimplemented for objects that lie in another repository (objects/info/alternates).
Result<RepositoryFiles> checkRepositoryFiles(const std::string& directory);

}  // namespace kiln::source
