#include "coordinator/queue/usual_time.h"

#include <algorithm>

namespace kiln::queue {

// The index attempts_done has the last ones in order.
Result<std::map<index::ActionKind, Duration>> usualTimes(postgres::Connection& connection) {
  KILN_ASSIGN(
      postgres::Rows rows,
      connection.execute("SELECT r.kind, avg(extract(epoch FROM a.ended - a.leased))::double precision AS "
                         "took FROM (SELECT instance, run_id, leased, ended FROM attempts WHERE outcome = "
                         "'done' ORDER BY ended DESC LIMIT 1000) a JOIN runs r ON r.instance = a.instance "
                         "AND r.id = a.run_id GROUP BY r.kind"));
  std::map<index::ActionKind, Duration> out;
  KILN_TRY(rows.map([&](const postgres::Row& row) {
    const std::chrono::duration<double> took(std::max(0.0, row.get<double>("took")));
    out[static_cast<index::ActionKind>(row.get<int>("kind"))] = std::chrono::duration_cast<Duration>(took);
    return true;
  }));
  return out;
}

}  // namespace kiln::queue
