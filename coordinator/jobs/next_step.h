// The state machine of a job: from everything stored about it to the one thing to do next. Pure, so that a
// coordinator killed anywhere goes on by asking again; whoever carries out a step makes it idempotent.
//
//   fetch (git sources) -> plan actions -> runs of reference and of compile x builders -> compare -> publish
//   each target, with the fixtures that the reference made -> check each artifact, and publish the IR that a
//   compile of its own has left, if asked for -> end
// A check on an emulated device also waits for the action that makes what such a device runs. A job that
// wants tuning first has each target's kernels planned, then, where it is to search, tuned; only then are its
// compiles planned. A foreign action's execution is a job of one run (execution_step.h).
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "coordinator/jobs/job_error.h"
#include "manifest/spec/delivery_spec.h"
#include "storage/index/rows/records.h"

namespace kiln::jobs {

// Nothing to do until a worker reports, or the job has ended.
struct Wait {};
// Record in sources[source] the blob that the fetcher's result names, and its external data as further
// sources.
struct ResolveSource {
  int source = 0;
  index::ResultRecord result;
};
// All sources are known: build the reference and compile actions and store them.
struct PlanActions {};
// targets[target]'s kernels are known and are to be tuned: build the action and store it.
struct PlanTune {
  int target = 0;
  index::ResultRecord plan;
};
// All that a target's compile may be given is known: store what was measured, choose its tuning entries,
// build its compile action and store it.
struct PlanCompile {
  int target = 0;
  index::ResultRecord plan;
  std::optional<index::ResultRecord> tuned;  // of a search
};
struct NewRun {
  index::ActionRecord action;
  std::vector<std::string> excludedWorkers, countedOperators;
};
struct QueueRuns {
  std::vector<NewRun> runs;
};
// The builders in `evidence` agree on targets[target]'s outputs, those in `dissent` are outvoted, and
// `reference` is the result with its fixtures.
struct Publish {
  int target = 0;
  Digest action;
  std::vector<index::ResultRecord> evidence, dissent;
  index::ResultRecord reference;
};
// targets[target] is published and wants a check: build its action and store it.
struct PlanCheck {
  int target = 0;
  std::optional<index::ResultRecord> emulation;  // of the target's kEmulate action, if it has one
};
// targets[target]'s check has run: sign what it found.
struct PublishCheck {
  int target = 0;
  index::ResultRecord result;
};
// targets[target] is published, and its kIr action has run: sign and keep the IR that it left.
struct PublishIr {
  int target = 0;
  index::ResultRecord result;
};
// Cancel what still runs and close the job. `disputed`: the action whose builders disagree.
struct End {
  index::JobState state = index::JobState::kSucceeded;
  std::optional<index::JobErrorRecord> error;
  std::optional<Digest> disputed;
};

using Step = std::variant<Wait, ResolveSource, PlanActions, PlanTune, PlanCompile, QueueRuns, Publish,
                          PlanCheck, PublishCheck, PublishIr, End>;

// Whether this target's check, and its tuning with it, runs on an emulated device.
bool checkedEmulated(const DeliverySpec& delivery, const std::string& target);

Step nextStep(const index::JobSnapshot& snapshot, const DeliverySpec& delivery);

// The job's end where it is open and not done although its deadline has passed: exit 7.
std::optional<End> pastDeadline(const index::JobSnapshot& snapshot, TimePoint now);

}  // namespace kiln::jobs
