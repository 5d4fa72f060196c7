#include "storage/postgres/pool_metrics.h"

#include <prometheus/gauge.h>

namespace kiln::postgres {

void addPoolMetrics(telemetry::Registry& registry, Pool& pool) {
  const auto gauge = [&registry](const char* name, const char* help) -> prometheus::Gauge& {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  };
  auto& lent = gauge("kiln_database_connections_in_use", "Connections of the pool that somebody uses");
  auto& waiting = gauge("kiln_database_waiting", "Calls that wait for a connection of the pool");
  gauge("kiln_database_connections_max", "Connections that the pool may have")
      .Set(static_cast<double>(pool.usage().size));
  registry.beforeCollect([&lent, &waiting, &pool] {
    const Pool::Usage usage = pool.usage();
    lent.Set(static_cast<double>(usage.lent));
    waiting.Set(static_cast<double>(usage.waiting));
  });
}

}  // namespace kiln::postgres
