// A service behind the gate: a generated class overrides each RPC with pass(), which asks first. An RPC that
// is not overridden is UNIMPLEMENTED for everybody.
#pragma once

#include <grpcpp/server_context.h>

#include <string>
#include <string_view>

#include "coordinator/access/gate.h"
#include "coordinator/farm/instances.h"
#include "coordinator/server/call_watch.h"
#include "storage/remote/reapi_instance.h"
#include "storage/remote/status.h"

namespace kiln::server {

// The instance that a request names, and for REAPI's empty name the default one; "" where what it asks for
// concerns the whole farm.
template <class Request>
std::string instanceOf(const Request& request) {
  if constexpr (requires { request.instance(); })
    return request.instance();
  else if constexpr (requires { request.instance_name(); })
    return storage::instanceNamed(request.instance_name());
  else
    return "";
}

// Refusals are logged: somebody tried what they may not.
Status logged(Status refusal, const grpc::ServerContextBase& context, std::string_view rpc);

// What stands before every service. All of it must outlive whoever has it.
struct Door {
  const access::Gate& gate;
  CallWatch& calls;
  service::Instances& instances;
  // How a call says who makes it. Another one than this for calls that came over HTTP.
  access::Credentials (*credentials)(const grpc::ServerContextBase&) = access::credentialsOf;

  // The caller's share of the calls, until this one has ended. kResourceExhausted if it has too many.
  Status takePermit(const grpc::ServerContext& context) const;
  // The same for a worker's call, which holds no thread.
  Status takeWorkerPermit(const grpc::CallbackServerContext& context) const;
};

// Thread safe as the service itself. `inner` must outlive it.
template <class Wrapped>
class Guard : public Wrapped::Service {
 public:
  using Inner = typename Wrapped::Service;
  Guard(const Door& door, Inner& inner) : door_(door), inner_(inner) {}

 protected:
  // Whether the call may go on, as one of how many, and in an instance that there is: asked last, of those
  // who may know.
  Status admit(const grpc::ServerContext& context, std::string_view rpc, const std::string& instance) const {
    const std::string name = std::string(Wrapped::service_full_name()) + "/" + std::string(rpc);
    KILN_TRY(logged(door_.gate.admit(door_.credentials(context), name, instance), context, name));
    KILN_TRY(door_.takePermit(context));
    const access::RpcRule& rule = *access::findRule(name);  // or nobody would have been let in
    if (rule.scope != access::Scope::kInstance || rule.place == access::Place::kMayBegin) return {};
    return door_.instances.check(instance);
  }
  // `Out` is the response, or the writer of a stream of them.
  template <class Request, class Out>
  grpc::Status pass(std::string_view rpc,
                    grpc::Status (Inner::*method)(grpc::ServerContext*, const Request*, Out*),
                    grpc::ServerContext* context, const Request* request, Out* out) {
    if (const Status status = admit(*context, rpc, instanceOf(*request)); !status) return toGrpc(status);
    return (inner_.*method)(context, request, out);
  }

  const Door door_;
  Inner& inner_;
};

}  // namespace kiln::server
