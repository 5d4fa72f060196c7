#include "worker/executor/ending.h"

namespace kiln::executor {

Status checkEnding(const sandbox::RunResult& run) {
  switch (run.ending) {
    case sandbox::Ending::kExited:
      return {};
    case sandbox::Ending::kTimedOut:
      return fail(Code::kDeadlineExceeded, "time limit: " + run.why);
    case sandbox::Ending::kCancelled:
      return fail(Code::kCancelled, "cancelled");
    case sandbox::Ending::kOutputLimit:
      return fail(Code::kOutOfRange, run.why);
    case sandbox::Ending::kOutOfMemory:
      return fail(Code::kResourceExhausted, "memory limit: " + run.why);
  }
  return fail(Code::kInternal, "the sandbox ended in an unknown way");
}

bool retryable(const Error& error) {
  switch (error.code) {
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
    case Code::kPermissionDenied:
    case Code::kDeadlineExceeded:
    case Code::kCancelled:
      return false;
    default:
      return true;
  }
}

}  // namespace kiln::executor
