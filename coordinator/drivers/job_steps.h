// The steps of a job that change nothing but the database, and planning. Used by JobDriver, under the job's
// lock where it says so.
#pragma once

#include "coordinator/farm/leasing.h"
#include "coordinator/jobs/next_step.h"
#include "coordinator/planning/planning.h"

namespace kiln::service {

// Carries out QueueRuns, ResolveSource and End; true if `step` was one of them or Wait. In a transaction that
// holds the job's lock.
Result<bool> applyInDatabase(const Clock& clock, const Leasing& leasing, postgres::Connection& connection,
                             const index::JobSnapshot& snapshot, const DeliverySpec& delivery,
                             const jobs::Step& step);

// PlanActions for a stored job whose sources have been fetched: blobs first, then the actions.
Status planStoredJob(const Planning& planning, const index::JobSnapshot& snapshot,
                     const DeliverySpec& delivery);

// A step that can never succeed. Bytes of earlier jobs' results that are gone or corrupt are built afresh;
// otherwise the job fails. In a transaction.
Status recordFailedStep(const Clock& clock, postgres::Connection& connection,
                        const index::JobSnapshot& snapshot, const jobs::Step& step, const Error& error);

}  // namespace kiln::service
