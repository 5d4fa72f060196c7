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
// The same for what says whom to believe (roots, policies, verifier keys): kPermissionDenied if another user
// than this one and root owns the file or the folder that `path` names it in, or if more than their owner may
// write to them. A user's own group (of the same number) may; a sticky folder and a read-only file system
// keep others out; root takes the word of any owner that it names.
Result<std::string> readTrustFile(const std::string& path, std::size_t limit);

// writeNewFile() with mode 0600 and 0644.
Status writeSecretFile(const std::string& path, std::string_view content);
Status writeTextFile(const std::string& path, std::string_view content);

// writeTextFile() of what belongs to a key that was just saved. Where that fails the key goes too: alone it
// is of no use, and in the way of the next try.
Status writePublicHalf(const std::string& path, std::string_view content, const std::string& privateHalf);

}  // namespace kiln::signing
