#include "coordinator/server/guarded_execution.h"

namespace kiln::server {

using grpc::ServerContext;

Status GuardedExecution::admit(const ServerContext& context, std::string_view rpc,
                               const std::string& instance) const {
  const std::string name = std::string(reapi::Execution::service_full_name()) + "/" + std::string(rpc);
  KILN_TRY(logged(door_.gate.admit(access::credentialsOf(context), name, instance), context, name));
  KILN_TRY(door_.takePermit(context));
  return door_.instances.check(instance);
}

grpc::Status GuardedExecution::Execute(ServerContext* context, const reapi::ExecuteRequest* request,
                                       service::ExecutionService::Updates* updates) {
  const std::string instance =
      request->instance_name().empty() ? service::kDefaultInstance : request->instance_name();
  if (const Status status = admit(*context, "Execute", instance); !status) return toGrpc(status);
  const auto who = door_.gate.identify(access::credentialsOf(*context));
  return who ? inner_.execute(*context, *request, *updates, access::describe(*who)) : toGrpc(who.error());
}

grpc::Status GuardedExecution::WaitExecution(ServerContext* context,
                                             const reapi::WaitExecutionRequest* request,
                                             service::ExecutionService::Updates* updates) {
  // A name that is none is looked up nowhere, but only callers are told so.
  const auto job = service::operationNamed(request->name());
  if (const Status status = admit(*context, "WaitExecution", job ? job->instance : service::kDefaultInstance);
      !status)
    return toGrpc(status);
  return inner_.WaitExecution(context, request, updates);
}

}  // namespace kiln::server
