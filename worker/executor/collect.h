// From the files that a foreign action left to its ActionResult.
#pragma once

#include <string>

#include "storage/blob/blob_store.h"
#include "worker/executor/action_plan.h"
#include "worker/sandbox/policy.h"

namespace kiln::executor {

// Adds the planned outputs that are there below `root` to `result`, as files, links or directories (with Tree
// and Directory messages as the plan wants them), and uploads what the store does not have. What is not there
// is not in the result. Nothing may write below `root` any more. kInvalidArgument names an output that is not
// served, a link that leads out of its output directory or, standing alone, of the input root, or a file
// where a directory was wanted and the other way round; kOutOfRange beyond the limits, which hold for all
// outputs together; and the store's errors.
Status collectOutputs(storage::BlobStore& store, const std::string& instance, const ActionPlan& plan,
                      const std::string& root, const sandbox::Limits& limits, reapi::ActionResult* result);

}  // namespace kiln::executor
