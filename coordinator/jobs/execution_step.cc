#include "coordinator/jobs/execution_step.h"

#include <fmt/format.h>

#include <algorithm>

namespace kiln::jobs {
namespace {

using index::JobState;
using index::RunRecord;
using index::RunState;

End failedRun(const RunRecord& run) {
  const Error error{static_cast<Code>(run.errorCode), run.errorMessage, {}};
  return {JobState::kFailed,
          jobError(error.in(fmt::format("the action failed {} time{}, last on worker {}", run.attempts,
                                        run.attempts == 1 ? "" : "s", run.worker))),
          {}};
}

// A time limit is the client's: another worker would only take as long again.
bool isFinal(const RunRecord& run) {
  return run.state == RunState::kFailed ||
         (run.state == RunState::kQueued && static_cast<Code>(run.errorCode) == Code::kDeadlineExceeded);
}

}  // namespace

Step executionStep(const index::JobSnapshot& snapshot) {
  if (!snapshot.results.empty()) return End{JobState::kSucceeded, {}, {}};
  const auto failed = std::ranges::find_if(snapshot.runs, isFinal);
  if (failed != snapshot.runs.end()) return failedRun(*failed);
  if (snapshot.runs.empty() && !snapshot.actions.empty())
    return QueueRuns{{{snapshot.actions.front(), {}, {}}}};
  return Wait{};
}

std::optional<End> unwatched(const index::JobSnapshot& snapshot, TimePoint now) {
  const index::JobRecord& job = snapshot.job;
  if (!index::isOpen(job.state) || !job.execution || now - job.execution->watched < kUnwatchedFor) return {};
  return End{JobState::kCancelled, {}, {}};
}

}  // namespace kiln::jobs
