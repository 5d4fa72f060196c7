// Keeps the IR of a published artifact: what a worker's compile for it has left, with a signed statement.
#pragma once

#include "coordinator/jobs/next_step.h"
#include "coordinator/recall/judging.h"

namespace kiln::service {

// IR statement -> signature -> bundle -> index; may be repeated, and of the same result makes the same bytes.
// Errors as checkIrOutputs(); kFailedPrecondition (exitCode 9) if the artifact has another IR already;
// kUnavailable and the like: try again.
Status publishIr(const Judging& judging, const index::JobSnapshot& snapshot, const jobs::PublishIr& step);

}  // namespace kiln::service
