// How much of a pool is in use, for Prometheus.
#pragma once

#include "storage/postgres/pool.h"
#include "storage/telemetry/registry.h"

namespace kiln::postgres {

// kiln_database_connections_max, kiln_database_connections_in_use and kiln_database_waiting, the calls that
// wait for a connection. The pool must be there as long as anybody collects.
void addPoolMetrics(telemetry::Registry& registry, Pool& pool);

}  // namespace kiln::postgres
