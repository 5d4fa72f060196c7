// What a job, and its instance, may still have.
#pragma once

#include "coordinator/jobs/next_step.h"
#include "coordinator/jobs/submission.h"
#include "coordinator/quota/quota_rules.h"
#include "manifest/base/clock.h"
#include "storage/postgres/connection.h"

namespace kiln::service {

// kResourceExhausted, with "retryAfterSeconds" in details, where the instance has used up something that the
// job needs: runs in the queue, bytes stored, entries of the log, and time of GPUs if its check wants any.
Status checkQuota(const quota::Quota& quota, postgres::Connection& connection,
                  const jobs::Submission& submission, TimePoint now);

// The same for a run that signs nothing and needs no GPU.
Status checkRunQuota(const quota::Quota& quota, postgres::Connection& connection, const std::string& instance,
                     TimePoint now);

// When the job ends that is submitted now; nothing if it has no deadline. kInvalidArgument for one that has
// passed.
Result<std::optional<TimePoint>> deadlineOf(const DeliverySpec& delivery, TimePoint submitted);

// Whether the job, which is to have `runs` next, fits its deadline and its budget, the submitter's and the
// instance's, as far as earlier runs of the same model tell (jobs/estimate.h). Exit 4 where it does not:
// kOutOfRange for the deadline, kResourceExhausted for a budget, with the estimate in message and details.
Status checkEstimate(const quota::Quota& quota, postgres::Connection& connection,
                     const index::JobSnapshot& snapshot, const DeliverySpec& delivery,
                     const std::vector<jobs::NewRun>& runs);

}  // namespace kiln::service
