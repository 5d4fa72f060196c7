// Whether there is something at a path that a user names.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "manifest/base/result.h"

namespace kiln {

// Links are followed. kNotFound: nothing lies there. Else what keeps one from knowing, as the system says it:
// kPermissionDenied where a folder on the way may not be searched, which is no "no such file".
inline Status checkPresent(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) return {};
  const int error = errno;
  // "file/name": a file on the way has nothing in it.
  return fail(errnoError(error == ENOTDIR ? ENOENT : error, path));
}

}  // namespace kiln
