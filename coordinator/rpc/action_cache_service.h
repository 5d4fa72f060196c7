// The action cache of the Remote Execution API.
#pragma once

#include <string>

#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "coordinator/farm/action_results.h"
#include "coordinator/farm/stores.h"
#include "coordinator/quota/taken_bytes.h"

namespace kiln::service {

// Who writes a result, and whether it counts for a quota as a client's upload does.
struct ResultWriter {
  std::string who = "local";
  quota::Uploader uploader = quota::Uploader::kWorker;
};

// Thread safe. What it is given must outlive it. Nothing that is written here is evidence of an artifact.
class ActionCacheService final : public reapi::ActionCache::Service {
 public:
  ActionCacheService(const Stores& stores, ActionResults& results, const quota::Books& books)
      : stores_(stores), results_(results), books_(books) {}

  // NOT_FOUND where no result is known whose blobs are all in the store. What is asked for is inlined
  // (coordinator/reapi/inlined.h).
  grpc::Status GetActionResult(grpc::ServerContext* context, const reapi::GetActionResultRequest* request,
                               reapi::ActionResult* response) override;
  // INVALID_ARGUMENT for a result that is not as coordinator/reapi/client_result.h wants it;
  // FAILED_PRECONDITION where the action, its command or a blob of the result is not in the store, or the
  // action says do_not_cache; RESOURCE_EXHAUSTED beyond the quota for uploads. Answers with what was kept.
  grpc::Status UpdateActionResult(grpc::ServerContext* context,
                                  const reapi::UpdateActionResultRequest* request,
                                  reapi::ActionResult* response) override;
  // The same, written by `writer`; UpdateActionResult() takes everybody for the farm's own user.
  grpc::Status update(const reapi::UpdateActionResultRequest& request, const ResultWriter& writer,
                      reapi::ActionResult& response);

 private:
  Status store(const reapi::UpdateActionResultRequest& request, const ResultWriter& writer,
               reapi::ActionResult& kept);

  const Stores& stores_;
  ActionResults& results_;
  const quota::Books books_;
};

}  // namespace kiln::service
