// An execution as its client sees it: operations of google.longrunning, and errors that REAPI's clients act
// on.
#pragma once

#include <grpcpp/support/status.h>

#include <optional>
#include <vector>

#include "google/longrunning/operations.pb.h"
#include "storage/index/rows/records.h"
#include "storage/tree/digest_proto.h"

namespace kiln::service {

// A job that has not ended: queued or executing.
google::longrunning::Operation openOperation(const index::JobSnapshot& snapshot);
reapi::ExecutionStage::Value stageOf(const index::JobSnapshot& snapshot);

// What a job that has ended answers: its result, or why it has none; `missing`: what its action lacks by now.
reapi::ExecuteResponse responseOf(const index::JobSnapshot& snapshot, const std::vector<Digest>& missing);
// Of an action whose result was known.
reapi::ExecuteResponse cachedResponse(reapi::ActionResult result);

// The end of the job that executes the action.
google::longrunning::Operation endedOperation(const index::JobKey& job, const Digest& action,
                                              const reapi::ExecuteResponse& response);

// A refused execution: where bytes are missing, with a PreconditionFailure that names each as REAPI wants it.
grpc::Status refusedExecution(const Error& error);

}  // namespace kiln::service
