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
    case GIT_EMISMATCH:
      error.code = Code::kDataLoss;
      return error;
  }
  if (last == nullptr) return error;
  switch (last->klass) {
    case GIT_ERROR_NET:
    case GIT_ERROR_HTTP:
    case GIT_ERROR_SSH:
    case GIT_ERROR_SSL:
      error.code = Code::kUnavailable;
      break;
    case GIT_ERROR_OS:
      if (error.message.ends_with("Permission denied")) error.code = Code::kPermissionDenied;
      break;
    case GIT_ERROR_NOMEMORY:
      error.code = Code::kResourceExhausted;
      break;
    case GIT_ERROR_REPOSITORY:
      error.code =
          error.message.find("unsupported") == std::string::npos ? Code::kDataLoss : Code::kUnimplemented;
      break;
    case GIT_ERROR_CONFIG:
    case GIT_ERROR_INDEXER:
    case GIT_ERROR_INVALID:  // of a delta
    case GIT_ERROR_OBJECT:
    case GIT_ERROR_ODB:
    case GIT_ERROR_REFERENCE:
    case GIT_ERROR_SHA:
    case GIT_ERROR_TAG:
    case GIT_ERROR_TREE:
    case GIT_ERROR_ZLIB:
      error.code = Code::kDataLoss;
      break;
    default:
      break;
  }
  return error;
}

}  // namespace kiln::source
