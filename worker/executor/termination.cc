#include "worker/executor/termination.h"

namespace kiln::executor {
namespace {

// The details of an error that tells the action's own memory from a host's full disk.
constexpr char kMemoryLimit[] = R"({"limit":"memory"})";

}  // namespace

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
      return fail(Error{Code::kResourceExhausted, "memory limit: " + run.why, kMemoryLimit});
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
    case Code::kResourceExhausted:
      return error.details != kMemoryLimit;
    default:
      return true;
  }
}

}  // namespace kiln::executor
