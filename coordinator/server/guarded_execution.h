// REAPI's Execution behind the gate: the instance of WaitExecution stands inside the operation's name, and
// Execute records who submits.
#pragma once

#include "coordinator/rpc/execution_service.h"
#include "coordinator/server/guard.h"

namespace kiln::server {

// Thread safe. What it is given must outlive it.
class GuardedExecution final : public reapi::Execution::Service {
 public:
  GuardedExecution(const Door& door, service::ExecutionService& inner) : door_(door), inner_(inner) {}
  grpc::Status Execute(grpc::ServerContext* context, const reapi::ExecuteRequest* request,
                       service::ExecutionService::Updates* updates) override;
  grpc::Status WaitExecution(grpc::ServerContext* context, const reapi::WaitExecutionRequest* request,
                             service::ExecutionService::Updates* updates) override;

 private:
  Status admit(const grpc::ServerContext& context, std::string_view rpc, const std::string& instance) const;

  const Door door_;
  service::ExecutionService& inner_;
};

}  // namespace kiln::server
