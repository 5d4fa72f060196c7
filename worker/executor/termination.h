// From how a sandboxed command ended to the farm's errors, and which of those are worth another try.
#pragma once

#include "worker/sandbox/sandbox.h"

namespace kiln::executor {

// Ok if the tool ended by itself, whatever its exit code. kDeadlineExceeded, kCancelled, kOutOfRange (output
// limits) or kResourceExhausted (memory) otherwise.
Status checkTermination(const sandbox::RunResult& run);

// Whether another worker, or this one later, may succeed where `error` came up: true for what the store, the
// host or the sandbox did, false for what lies in the action.
bool retryable(const Error& error);

}  // namespace kiln::executor
