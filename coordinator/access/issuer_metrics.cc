#include "coordinator/access/issuer_metrics.h"

#include <prometheus/gauge.h>

#include <limits>

namespace kiln::access {
namespace {

double secondsOf(Duration age) {
  if (age < Duration(0)) return std::numeric_limits<double>::quiet_NaN();
  return std::chrono::duration<double>(age).count();
}

}  // namespace

void addIssuerMetrics(telemetry::Registry& registry, const DiscoveredKeys& keys) {
  auto& fetches = prometheus::BuildCounter()
                      .Name("kiln_issuer_key_fetches_total")
                      .Help("Fetches of the keys of token issuers")
                      .Register(registry);
  auto& heldBack = prometheus::BuildCounter()
                       .Name("kiln_issuer_key_fetches_held_back_total")
                       .Help("Tokens with unknown keys that came too soon after a fetch")
                       .Register(registry);
  auto& age = prometheus::BuildGauge()
                  .Name("kiln_issuer_keys_age_seconds")
                  .Help("Age of the keys of token issuers")
                  .Register(registry);
  registry.beforeCollect([&fetches, &heldBack, &age, &keys] {
    for (const FollowedState& state : keys.states()) {
      telemetry::raiseTo(fetches.Add({{"issuer", state.issuer}, {"outcome", "taken"}}),
                         static_cast<double>(state.fetched));
      telemetry::raiseTo(fetches.Add({{"issuer", state.issuer}, {"outcome", "failed"}}),
                         static_cast<double>(state.failed));
      telemetry::raiseTo(heldBack.Add({{"issuer", state.issuer}}), static_cast<double>(state.heldBack));
      age.Add({{"issuer", state.issuer}}).Set(secondsOf(state.age));
    }
  });
}

}  // namespace kiln::access
