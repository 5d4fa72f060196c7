// What a commit's own `.lfsconfig` says of where its large files are.
// Source: git-lfs, docs/man/git-lfs-config.adoc; the syntax is git-config's, of which no more is read than
// such files have.
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/result.h"
#include "storage/source/git_url.h"

namespace kiln::lfs {

inline constexpr char kLfsConfig[] = ".lfsconfig";
inline constexpr std::size_t kMaxLfsConfigBytes = 64 << 10;

// The server that it names: "lfs.url", else "remote.origin.lfsurl"; "" where it names none. Whatever else it
// sets changes nothing of which bytes come for an object. kInvalidArgument, with exitCode 3 in the details,
// names the line of what is no such file; kUnimplemented what is not read: files that it includes, and
// addresses with escapes.
Result<std::string> lfsServerIn(std::string_view text);

// `url` as a server of Git LFS: without a slash at its end. kUnimplemented for another scheme than https (or
// http, which exchange() refuses where it must), a query or a fragment; kDataLoss for what is no URL, or
// holds a user.
Result<std::string> checkedServer(const std::string& url);

}  // namespace kiln::lfs
