#include "coordinator/web/http_gate.h"

#include "coordinator/farm/log.h"

namespace kiln::server {

using access::RpcRule;
using gateway::RouteKind;

std::optional<RpcRule> ruleOf(RouteKind route) {
  RpcRule rule = *access::findRule("kiln.v1.ArtifactService/GetArtifact");
  switch (route) {
    case RouteKind::kManifest:
      rule.rpc = "GET manifests";
      return rule;
    case RouteKind::kBlob:
      rule.rpc = "GET blobs";
      return rule;
    case RouteKind::kReferrers:
      rule.rpc = "GET referrers";
      return rule;
    case RouteKind::kBase:
      return RpcRule{"GET /v2/", access::Scope::kAnywhere, rule.roles};
    case RouteKind::kCheckpoint:
    case RouteKind::kTile:
      return RpcRule{"GET /log/", access::Scope::kAnywhere, rule.roles};
    case RouteKind::kHealth:
    case RouteKind::kMetrics:
    case RouteKind::kPage:  // for everybody: the gateway asks no gate
      break;
  }
  return std::nullopt;
}

Status HttpGate::admit(const gateway::Caller& caller, RouteKind route, const std::string& instance) {
  if (publicLog_ && (route == RouteKind::kCheckpoint || route == RouteKind::kTile)) return {};
  const std::optional<RpcRule> rule = ruleOf(route);
  const access::Credentials shown{false, caller.certificate, caller.authorizations};
  const std::string what(rule ? rule->rpc : "this");
  const Status may = gate_.admit(shown, rule ? &*rule : nullptr, what, instance);
  if (!may) service::logWarning("request refused", {{"what", what}, {"error", may.error().message}});
  return may;
}

}  // namespace kiln::server
