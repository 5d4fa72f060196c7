// What became of fetching the keys of token issuers, for Prometheus.
#pragma once

#include "coordinator/access/discovered_keys.h"
#include "storage/telemetry/registry.h"

namespace kiln::access {

// `issuer` is an address of the access file, so that nobody else can make Prometheus remember more of them:
//   kiln_issuer_key_fetches_total{issuer,outcome}  taken, failed
//   kiln_issuer_key_fetches_held_back_total{issuer}  tokens with unknown keys that had come too soon for
//   another kiln_issuer_keys_age_seconds{issuer}             of the keys that count; NaN while there are none
// The keys must be there as long as anybody collects.
void addIssuerMetrics(telemetry::Registry& registry, const DiscoveredKeys& keys);

}  // namespace kiln::access
