#include "coordinator/server/guard.h"

#include "coordinator/farm/log.h"
#include "manifest/base/printable.h"

namespace kiln::server {

Status logged(Status refusal, const grpc::ServerContextBase& context, std::string_view rpc) {
  if (!refusal)
    service::logWarning(
        "call refused",
        {{"rpc", std::string(rpc)}, {"peer", printable(context.peer())}, {"error", refusal.error().message}});
  return refusal;
}

Status Door::takePermit(const grpc::ServerContext& context) const {
  KILN_ASSIGN(access::CallLimiter::Permit permit, gate.permit(credentials(context)));
  return calls.keep(context, std::move(permit));
}

Status Door::takeWorkerPermit(const grpc::CallbackServerContext& context) const {
  KILN_ASSIGN(access::CallLimiter::Permit permit, gate.permitWorker(credentials(context)));
  return calls.keep(context, std::move(permit));
}

}  // namespace kiln::server
