#include "worker/executor/termination.h"

namespace kiln::executor {

Status checkTermination(const sandbox::RunResult& run) {
  switch (run.termination) {
    case sandbox::Termination::kExited:
      return {};
    case sandbox::Termination::kTimedOut:
      return fail(Code::kDeadlineExceeded, "time limit: " + run.why);
    case sandbox::Termination::kCancelled:
      return fail(Code::kCancelled, "cancelled");
    case sandbox::Termination::kOutputLimit:
      return fail(Code::kOutOfRange, run.why);
    case sandbox::Termination::kOutOfMemory:
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
