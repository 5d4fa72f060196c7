// Access control of HTTP within TLS: the same callers, roles and evaluator as for gRPC.
#pragma once

#include <optional>

#include "api/gateway/gateway.h"
#include "coordinator/access/gate.h"

namespace kiln::server {

// The rule of a route; nothing if it is served to nobody beyond loopback. What is pulled wants what
// ArtifactService/GetArtifact wants; the log, which is one for all instances, a role in any of them.
std::optional<access::RpcRule> ruleOf(gateway::RouteKind route);

// Thread safe. `gate` must outlive it.
class HttpGate final : public gateway::RequestGate {
 public:
  // `publicLog`: checkpoint and tiles are for everybody.
  HttpGate(const access::Gate& gate, bool publicLog) : gate_(gate), publicLog_(publicLog) {}
  // Refusals are logged.
  Status admit(const gateway::Caller& caller, gateway::RouteKind route, const std::string& instance) override;

 private:
  const access::Gate& gate_;
  const bool publicLog_;
};

}  // namespace kiln::server
