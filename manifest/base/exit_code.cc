#include "manifest/base/exit_code.h"

#include <cstring>

namespace kiln {

ExitCode exitCodeOf(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
    case Code::kAlreadyExists:
      return kExitUsage;
    case Code::kUnimplemented:
      return kExitUnsupported;
    case Code::kDataLoss:
      return kExitVerification;
    case Code::kNotFound:
      return kExitNotFound;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kResourceExhausted:
    case Code::kAborted:
      return kExitUnavailable;
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
      return kExitDenied;
    case Code::kCancelled:
      return kExitCancelled;
    case Code::kUnknown:
    case Code::kFailedPrecondition:
    case Code::kInternal:
      return kExitInternal;
  }
  return kExitInternal;
}

std::string signalText(int exitCode) {
  const int number = exitCode - kKilledBySignal;
  const char* const name = ::sigdescr_np(number);
  return "signal " + std::to_string(number) + (name != nullptr ? std::string(" (") + name + ")" : "");
}

}  // namespace kiln
