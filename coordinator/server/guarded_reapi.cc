#include "coordinator/server/guarded_reapi.h"

#include "coordinator/server/guarded_blobs.h"

namespace kiln::server {

using grpc::ServerContext;

grpc::Status GuardedResults::UpdateActionResult(ServerContext* context,
                                                const reapi::UpdateActionResultRequest* request,
                                                reapi::ActionResult* response) {
  if (const Status status = admit(*context, "UpdateActionResult", instanceOf(*request)); !status)
    return toGrpc(status);
  const auto who = door_.gate.identify(access::credentialsOf(*context));
  if (!who) return toGrpc(who.error());
  return results_.update(*request, {access::describe(*who), uploaderOf(door_, *context)}, *response);
}

grpc::Status GuardedFacts::GetCapabilities(ServerContext* context,
                                           const reapi::GetCapabilitiesRequest* request,
                                           reapi::ServerCapabilities* response) {
  const std::string instance = instanceOf(*request);
  if (const Status status = admit(*context, "GetCapabilities", instance); !status) return toGrpc(status);
  const auto may = [&](const char* rpc) {
    return door_.gate.admit(access::credentialsOf(*context), rpc, instance).has_value();
  };
  return facts_.answer(*request,
                       {.update = may("build.bazel.remote.execution.v2.ActionCache/UpdateActionResult"),
                        .execute = may("build.bazel.remote.execution.v2.Execution/Execute")},
                       *response);
}

}  // namespace kiln::server
