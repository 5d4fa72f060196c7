// What a job is going to take, from how long runs took that were alike.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/jobs/next_step.h"
#include "manifest/spec/delivery_spec.h"
#include "storage/index/rows/records.h"

namespace kiln::jobs {

// Of one of the job's actions, as far as its sources are known.
index::Subject subjectOf(const index::JobSnapshot& snapshot, const index::ActionRecord& action);

// Runs of one kind that a job wants.
struct PlannedRuns {
  index::WorkKind work;
  int runs = 0;
};

// Everything that the job wants to have run, as far as it is known: `now` and what comes after that. Of one
// whose sources must be fetched only the fetches are.
std::vector<PlannedRuns> plannedRuns(const index::JobSnapshot& snapshot, const DeliverySpec& delivery,
                                     const std::vector<NewRun>& now);

struct Estimate {
  double workerSeconds = 0;  // of all runs together
  double atLeast = 0;        // seconds until the job is done, with a worker for each run
  std::string basis;         // for a person: what it was added up from; "" where nothing is known
};

// `known` has what is expected of each of `planned`, in their order. Only what runs of the very same model
// took counts, so that nothing is refused for what others were like.
Estimate estimateOf(const std::vector<PlannedRuns>& planned,
                    const std::vector<std::optional<index::Expectation>>& known);

}  // namespace kiln::jobs
