// Git LFS objects in a repository on this machine.
#pragma once

#include <span>
#include <string>

#include "manifest/base/result.h"
#include "storage/lfs/large_file.h"

namespace kiln::lfs {

// From `gitDirectory`/lfs/objects, where git-lfs keeps what it has fetched ("lfs.storage" in a configuration
// is not looked at). `gitDirectory` is what a repository's worktrees share. The files may be hostile: they
// are hashed as they are copied. kNotFound names the file whose object is not there and what to run.
Status copyLocalObjects(const std::string& gitDirectory, std::span<const LargeFile> files);

}  // namespace kiln::lfs
