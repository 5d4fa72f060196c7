#include "manifest/base/result.h"

#include <cerrno>
#include <cstring>

#include "manifest/base/exit_code.h"

namespace kiln {

std::string_view codeName(Code code) {
  switch (code) {
    case Code::kCancelled:
      return "CANCELLED";
    case Code::kUnknown:
      return "UNKNOWN";
    case Code::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case Code::kNotFound:
      return "NOT_FOUND";
    case Code::kAlreadyExists:
      return "ALREADY_EXISTS";
    case Code::kPermissionDenied:
      return "PERMISSION_DENIED";
    case Code::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case Code::kAborted:
      return "ABORTED";
    case Code::kOutOfRange:
      return "OUT_OF_RANGE";
    case Code::kUnimplemented:
      return "UNIMPLEMENTED";
    case Code::kInternal:
      return "INTERNAL";
    case Code::kUnavailable:
      return "UNAVAILABLE";
    case Code::kDataLoss:
      return "DATA_LOSS";
    case Code::kUnauthenticated:
      return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

Error Error::in(std::string_view context) const {
  return {code, std::string(context) + ": " + message, details};
}

Error Error::asEvidence(std::string_view from) const {
  Error out = in(from);
  if (exitCodeOf(code) == kExitUsage) out.code = Code::kDataLoss;
  return out;
}

Error errnoError(int number, std::string_view what) {
  Code code = Code::kInternal;
  switch (number) {
    case ENOENT:
      code = Code::kNotFound;
      break;
    case EEXIST:
      code = Code::kAlreadyExists;
      break;
    case EISDIR:  // a name that cannot be what it was given for
    case ENOTDIR:
    case ENOTEMPTY:
    case ENXIO:  // a socket opened as a file
    case ELOOP:
    case ENAMETOOLONG:
      code = Code::kInvalidArgument;
      break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      code = Code::kResourceExhausted;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = Code::kPermissionDenied;
      break;
  }
  const bool isFull = number == ENOSPC || number == EDQUOT;
  return {code, std::string(what) + ": " + std::strerror(number) + (isFull ? "; free some space there" : "")};
}

}  // namespace kiln
