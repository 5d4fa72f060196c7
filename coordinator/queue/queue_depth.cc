#include "coordinator/queue/queue_depth.h"

namespace kiln::queue {

// Each half has a partial index of its own: runs_by_lane holds what the first one counts.
Result<std::vector<Depth>> queueDepth(postgres::Connection& connection) {
  KILN_ASSIGN(
      postgres::Rows rows,
      connection.execute("SELECT instance, kind, false AS leased, count(*) AS runs, min(queued) AS oldest "
                         "FROM runs WHERE state = 0 GROUP BY instance, kind UNION ALL SELECT instance, "
                         "kind, true, count(*), min(queued) FROM runs WHERE state = 1 GROUP BY instance, "
                         "kind"));
  return rows.map([](const postgres::Row& row) {
    return Depth{row.get<std::string>("instance"), static_cast<index::ActionKind>(row.get<int>("kind")),
                 row.get<bool>("leased"), row.get<std::uint64_t>("runs"), row.get<TimePoint>("oldest")};
  });
}

}  // namespace kiln::queue
