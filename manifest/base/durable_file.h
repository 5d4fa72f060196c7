// Files that are on the disk, whole, once the call that made them has returned.
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln {

// The folder that `path` is named in, as open() takes it: up to the last slash and with it, else ".".
std::string folderOf(const std::string& path);

// Creates a new file and makes it durable. kAlreadyExists if there is something at `path`. After an error
// there is nothing new.
Status writeNewFile(const std::string& path, std::string_view content, unsigned mode);

// Replaces whatever is at `path`: afterwards, also after a crash, it is the old content or the new, and the
// new one once this has returned. The new one is written beside it first, as `path` and ".new". One writer at
// a time.
Status replaceFile(const std::string& path, std::string_view content, unsigned mode = 0644);

// makeDirectory(), durable on return. `path` does not end with a slash.
Status makeDurableDirectory(const std::string& path, unsigned mode);

}  // namespace kiln
