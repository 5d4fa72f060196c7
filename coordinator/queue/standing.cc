#include "coordinator/queue/standing.h"

#include <string>

#include "storage/index/run_codec.h"

namespace kiln::queue {
namespace {

using index::RunRecord;
using postgres::Connection;
using postgres::Row;
using postgres::Rows;

constexpr char kTried[] =
    "SELECT count(DISTINCT (operator, worker)) AS tried, "
    "count(DISTINCT (operator, worker)) FILTER (WHERE outcome = 'final') AS final FROM attempts "
    "WHERE instance = $1 AND run_id = $2 AND outcome IN ('failed', 'final', 'lost')";

// $1 the limit of attempts, $2 since when a live worker has called. As requirements.cc: what is for a device
// of its own runs on emulated ones where the run wants that, processors serve both.
std::string anotherWorker() {
  return std::string(R"sql(EXISTS (
  SELECT FROM (SELECT *, $1::integer AS attempts FROM fleet) w
  WHERE NOT w.draining AND w.last_contact >= $2::timestamptz
    AND (w.instances IS NULL OR r.instance = ANY(w.instances))
    AND r.kind = ANY(w.kinds)
    AND (r.target = '' OR string_to_array(r.target, ',') <@
      CASE WHEN r.kind NOT IN (4, 7) THEN w.targets
        WHEN r.emulated THEN w.emulates || ARRAY(SELECT t FROM unnest(w.runs) t WHERE t LIKE 'cpu:%')
        ELSE w.runs END)
    AND )sql") +
         kMayTake + ")";
}

std::string findAnother() {
  return "SELECT " + anotherWorker() + " AS found FROM runs r WHERE r.instance = $3 AND r.id = $4";
}

std::string findAbandoned() {
  return "SELECT r.* FROM runs r WHERE r.state = 0 AND r.attempts > 0 AND (r.attempts >= $1 OR EXISTS ("
         "SELECT FROM attempts a WHERE a.instance = r.instance AND a.run_id = r.id AND a.outcome = 'final')) "
         "AND NOT " +
         anotherWorker() + " ORDER BY r.instance, r.id LIMIT 100 FOR UPDATE OF r SKIP LOCKED";
}

struct Tried {
  int workers = 0, final = 0;
};

}  // namespace

Result<bool> isWorthAnother(Connection& connection, const RunRecord& run, const RetryRules& rules) {
  KILN_ASSIGN(Rows rows, connection.execute(kTried, {run.instance, run.id}));
  KILN_ASSIGN(const auto tried,
              rows.first([](const Row& row) { return Tried{row.get<int>("tried"), row.get<int>("final")}; }));
  const bool usedUp = run.attempts >= rules.attempts;
  if (tried->final > 1 || (usedUp && tried->workers > 1)) return false;
  if (!usedUp && tried->final == 0) return true;
  if (!rules.fleetKnown) return true;
  KILN_ASSIGN(Rows found,
              connection.execute(findAnother(), {rules.attempts, rules.liveSince, run.instance, run.id}));
  KILN_ASSIGN(const auto another, found.first([](const Row& row) { return row.get<bool>("found"); }));
  return another.value_or(false);
}

Result<std::vector<RunRecord>> lockAbandoned(Connection& connection, const RetryRules& rules) {
  if (!rules.fleetKnown) return std::vector<RunRecord>();
  KILN_ASSIGN(Rows rows, connection.execute(findAbandoned(), {rules.attempts, rules.liveSince}));
  return rows.map(index::runAt);
}

}  // namespace kiln::queue
