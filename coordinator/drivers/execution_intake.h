// Takes foreign actions for execution: checks, looks in the cache, and stores a job of one run. Such a job
// has no reference, no publication and no part in any evidence.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/drivers/submitter.h"
#include "coordinator/farm/action_results.h"
#include "coordinator/farm/leasing.h"
#include "coordinator/farm/observers.h"
#include "coordinator/planning/admissions.h"
#include "coordinator/planning/planning.h"

namespace kiln::service {

struct WantedExecution {
  std::string instance;
  Digest action;
  bool skipCacheLookup = false;
  int priority = 0;  // of the queue: higher first
};

// What the caller's tool says of itself, fit for log lines and spans; "" for what it does not say. Nothing is
// decided by it.
struct ToolFacts {
  std::string tool;        // with its version
  std::string invocation;  // one run of it
  std::string correlated;  // what several runs have in common, such as a pipeline's
  std::string action;      // that the call is about, as the tool names it
  std::string target;      // likewise, of what it builds
  bool operator==(const ToolFacts&) const = default;
};
struct ExecutionCaller {
  SubmissionCaller caller;
  ToolFacts told;
  std::function<bool()> isGone;  // nobody waits for the answer any more; null: somebody always does
};

// The job that executes the action, or its result where that was known.
struct TakenExecution {
  index::JobKey job;
  std::optional<reapi::ActionResult> cached;
};

// Thread safe.
class ExecutionIntake {
 public:
  ExecutionIntake(const Planning& planning, const Admissions& admissions, const Leasing& leasing,
                  const Observers& observers, ActionResults& results)
      : planning_(planning),
        admissions_(admissions),
        leasing_(leasing),
        observers_(observers),
        results_(results) {}

  // Returns once the job is durable. kInvalidArgument for an action that is malformed or asks for what is not
  // known; kFailedPrecondition for what no worker serves or no toolchain is, and, with {"missing":[{"hash",
  // "size"}]} in details, for bytes to upload first; kUnavailable while workers may not have called yet;
  // kResourceExhausted beyond the instance's quota; kPermissionDenied for a tree that was recalled;
  // kCancelled once the caller is gone. No connection is held while trees are walked.
  Result<TakenExecution> take(const WantedExecution& wanted, const ExecutionCaller& caller);

  // What the stored execution's action lacks by now; at most as many as one answer names. kCancelled once
  // nobody waits for it.
  Result<std::vector<Digest>> missingOf(const index::JobSnapshot& snapshot,
                                        const std::function<bool()>& isGone = {});

 private:
  const Planning& planning_;
  const Admissions& admissions_;
  const Leasing& leasing_;
  const Observers& observers_;
  ActionResults& results_;
};

}  // namespace kiln::service
