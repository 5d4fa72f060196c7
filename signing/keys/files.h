// The files that signing reads and makes: private keys, and small public documents (certificates, roots,
// policies).
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::signing {

// kPermissionDenied unless `path` is a regular file (no symbolic link) of this user or root that nobody else
// may read. kInvalidArgument if it is longer than `limit`. Errors name the path.
Result<std::string> readSecretFile(const std::string& path, std::size_t limit);
// kInvalidArgument if `path` is not a regular file or is longer than `limit`.
Result<std::string> readTextFile(const std::string& path, std::size_t limit);

// Create a new file (mode 0600 and 0644) and make it durable. kAlreadyExists if there is something at `path`.
Status writeSecretFile(const std::string& path, std::string_view content);
Status writeTextFile(const std::string& path, std::string_view content);

// Replaces whatever is at `path` (mode 0644): afterwards, also after a crash, it is the old content or the
// new, and the new one once this has returned. One writer at a time.
Status replaceFile(const std::string& path, std::string_view content);

}  // namespace kiln::signing
