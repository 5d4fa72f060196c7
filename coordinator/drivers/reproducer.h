// Ends a rebuild: compares what a worker made with the artifact that was asked for, and signs that it is the
// same.
#pragma once

#include "coordinator/jobs/next_step.h"
#include "coordinator/recall/judging.h"

namespace kiln::service {

// Reproduction statement -> signature -> bundle -> index, and the artifact at the job's target; may be
// repeated. kFailedPrecondition with exitCode 9 and the differing files in details if anything differs;
// kUnavailable and the like: try again.
Status publishReproduction(const Judging& judging, const index::JobSnapshot& snapshot,
                           const DeliverySpec& delivery, const jobs::Publish& step);

}  // namespace kiln::service
