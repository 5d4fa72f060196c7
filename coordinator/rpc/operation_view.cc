#include "coordinator/rpc/operation_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "coordinator/rpc/execution_service.h"
#include "coordinator/view/job_view.h"
#include "google/rpc/error_details.pb.h"
#include "manifest/json/json.h"
#include "storage/remote/status.h"

namespace kiln::service {
namespace {

using google::longrunning::Operation;
using index::RunRecord;
using index::RunState;
using reapi::ExecutionStage;

Operation operation(const index::JobKey& job, const Digest& action, ExecutionStage::Value stage,
                    const reapi::ExecutedActionMetadata& partial = {}) {
  reapi::ExecuteOperationMetadata metadata;
  metadata.set_stage(stage);
  *metadata.mutable_action_digest() = toProto(action);
  metadata.set_digest_function(reapi::DigestFunction::SHA256);
  if (partial.ByteSizeLong() > 0) *metadata.mutable_partial_execution_metadata() = partial;
  Operation out;
  out.set_name(operationName(job));
  out.mutable_metadata()->PackFrom(metadata);
  return out;
}

void addMissing(const std::vector<Digest>& missing, google::rpc::Status& status) {
  google::rpc::PreconditionFailure failure;
  for (const Digest& digest : missing) {
    auto& violation = *failure.add_violations();
    violation.set_type("MISSING");
    violation.set_subject(fmt::format("blobs/{}/{}", digest.hex(), digest.size));
  }
  status.add_details()->PackFrom(failure);
}

// What of a failed execution a client should do something else about.
google::rpc::Status statusOf(const index::JobErrorRecord& error, const std::vector<Digest>& missing) {
  google::rpc::Status out;
  const auto code = static_cast<Code>(error.code);
  out.set_message(error.message);
  if (!missing.empty()) {
    // Bytes that were there when it was queued have gone.
    out.set_code(static_cast<int>(Code::kFailedPrecondition));
    addMissing(missing, out);
  } else if (code == Code::kNotFound || code == Code::kDataLoss || code == Code::kAborted) {
    out.set_code(static_cast<int>(Code::kUnavailable));  // a worker's fault, and others may do better
  } else {
    out.set_code(error.code);
  }
  return out;
}

std::vector<Digest> missingIn(const Error& error) {
  std::vector<Digest> out;
  const auto details = parseJson(error.details);
  if (!details || !details->is_object() || !details->contains("missing")) return out;
  for (const Json& one : details->at("missing"))
    if (const auto digest =
            Digest::parse(one.at("hash").get<std::string>(), std::stoull(one.at("size").get<std::string>())))
      out.push_back(*digest);
  return out;
}

}  // namespace

ExecutionStage::Value stageOf(const index::JobSnapshot& snapshot) {
  const bool begun = std::ranges::any_of(snapshot.runs, [](const RunRecord& run) {
    return run.state == RunState::kLeased || run.state == RunState::kDone;
  });
  return begun ? ExecutionStage::EXECUTING : ExecutionStage::QUEUED;
}

Operation openOperation(const index::JobSnapshot& snapshot) {
  reapi::ExecutedActionMetadata partial;
  setTimestamp(partial.mutable_queued_timestamp(), snapshot.job.submitted);
  for (const RunRecord& run : snapshot.runs)
    if (run.state == RunState::kLeased) partial.set_worker(run.worker);
  return operation(snapshot.job.key, snapshot.job.execution->action, stageOf(snapshot), partial);
}

reapi::ExecuteResponse responseOf(const index::JobSnapshot& snapshot, const std::vector<Digest>& missing) {
  const index::JobRecord& job = snapshot.job;
  reapi::ExecuteResponse response;
  if (job.state == index::JobState::kSucceeded && !snapshot.results.empty() &&
      response.mutable_result()->ParseFromString(snapshot.results.front().result)) {
    // Whatever the tool ended with is a result.
  } else if (job.error) {
    response.clear_result();
    *response.mutable_status() = statusOf(*job.error, missing);
  } else {
    response.clear_result();
    const bool cancelled = job.state == index::JobState::kCancelled;
    response.mutable_status()->set_code(static_cast<int>(cancelled ? Code::kCancelled : Code::kUnavailable));
    response.mutable_status()->set_message(cancelled ? "the execution was cancelled"
                                                     : "the result is gone; execute the action again");
  }
  response.set_message("job " + job.key.id + "; kiln show and kiln logs tell of it");
  return response;
}

reapi::ExecuteResponse cachedResponse(reapi::ActionResult result) {
  reapi::ExecuteResponse response;
  *response.mutable_result() = std::move(result);
  response.set_cached_result(true);
  return response;
}

Operation endedOperation(const index::JobKey& job, const Digest& action,
                         const reapi::ExecuteResponse& response) {
  Operation out = operation(job, action, ExecutionStage::COMPLETED);
  out.set_done(true);
  out.mutable_response()->PackFrom(response);
  return out;
}

grpc::Status refusedExecution(const Error& error) {
  const std::vector<Digest> missing = missingIn(error);
  if (missing.empty()) return toGrpc(error);
  google::rpc::Status rich = toRpcStatus(fail(error));
  addMissing(missing, rich);
  return {static_cast<grpc::StatusCode>(error.code), rich.message(), rich.SerializeAsString()};
}

}  // namespace kiln::service
