// The state machine of a foreign action's execution: its run is queued, and the job ends with what it left.
// Pure.
//
// Whatever the tool ended with is its result: nobody is asked to confirm it, and only a success answers
// others. Of equal executions in one instance one runs, and its success ends the others.
#pragma once

#include "coordinator/jobs/next_step.h"

namespace kiln::jobs {

// How long an execution goes on that nobody waits for: its client may come back.
inline constexpr Duration kUnwatchedFor = std::chrono::minutes(5);

// The step of an open job that is an execution.
Step executionStep(const index::JobSnapshot& snapshot);

// The end of an execution, queued or begun, that nobody has waited for since kUnwatchedFor.
std::optional<End> unwatched(const index::JobSnapshot& snapshot, TimePoint now);

}  // namespace kiln::jobs
