#include "storage/source/git_library.h"

#include <fmt/core.h>

namespace kiln::source {

Error gitError(int code, std::string_view what) {
  const git_error* last = git_error_last();
  Error error{Code::kInternal,
              fmt::format("{}: {}", what, last && last->message ? last->message : "libgit2 failed")};
  switch (code) {
    case GIT_ENOTFOUND:
      error.code = Code::kNotFound;
      return error;
    case GIT_EAUTH:
      error.code = Code::kUnauthenticated;
      return error;
    case GIT_ECERTIFICATE:
      error.code = Code::kPermissionDenied;
      return error;
  }
  if (last && (last->klass == GIT_ERROR_NET || last->klass == GIT_ERROR_HTTP ||
               last->klass == GIT_ERROR_SSH || last->klass == GIT_ERROR_SSL))
    error.code = Code::kUnavailable;
  return error;
}

}  // namespace kiln::source
