// Writing an action's input root to disk.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "storage/blob/blob_store.h"

namespace kiln::executor {

// Fills `path`, which must not exist, with the tree `root`, but for the directory `keepApart` directly below
// it: that one is made empty, to be mounted on, and its digest returned (nothing if the root has none). Files
// get mode 0444 or 0555, mtime 1, and are owned by this process's user; every file's bytes match its digest.
// On failure nothing is left. Errors as of storage::materialiseTree; symbolic links in the root itself are
// refused.
Result<std::optional<Digest>> writeInputRoot(storage::BlobStore& store, const std::string& instance,
                                             const Digest& root, const std::string& keepApart,
                                             const std::string& path);

// A new directory of exactly this mode, whatever the worker's umask.
Status makeDirectory(const std::string& path, mode_t mode);

// Sets access and modification time to 1, so that no tool sees when its inputs were written.
Status setOldTime(const std::string& path);

}  // namespace kiln::executor
