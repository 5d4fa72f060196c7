#include "api/cli/exit_code.h"

#include "manifest/json/json.h"

namespace kiln::cli {

int exitCodeOf(const Error& error) {
  if (!error.details.empty()) {
    if (const auto details = parseJson(error.details); details && details->is_object()) {
      const auto at = details->find("exitCode");
      if (at != details->end() && at->is_number_integer()) {
        const auto value = at->get<std::int64_t>();
        if (value >= kInternal && value <= kCheckFailed) return static_cast<int>(value);
      }
    }
  }
  switch (error.code) {
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
    case Code::kAlreadyExists:
      return kUsage;
    case Code::kUnimplemented:
      return kUnsupported;
    case Code::kDataLoss:
      return kVerificationFailed;
    case Code::kNotFound:
      return kNotFound;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kResourceExhausted:
    case Code::kAborted:
      return kUnavailable;
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
      return kDenied;
    case Code::kCancelled:
    case Code::kUnknown:
    case Code::kFailedPrecondition:
    case Code::kInternal:
      return kInternal;
  }
  return kInternal;
}

Error withExit(int exit, Code code, std::string message) {
  return {code, std::move(message), "{\"exitCode\":" + std::to_string(exit) + "}"};
}

}  // namespace kiln::cli
