#include "coordinator/queue/retry_policy.h"

#include <fmt/format.h>

#include "storage/index/rows/codec.h"
#include "storage/index/rows/run_codec.h"

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

// $1, $2 are anotherWorker()'s.
std::string findAnother() {
  return "SELECT " + anotherWorker("$1", "$2", "true") +
         " AS found FROM runs r WHERE r.instance = $3 AND r.id = $4";
}

// $1, $2 are anotherWorker()'s, $3 and $4 the job or NULL. A run that confirms a failure excludes who failed.
std::string findAbandoned() {
  return std::string(R"sql(
SELECT r.* FROM runs r
WHERE r.state = 0 AND r.contested AND ($3::text IS NULL OR r.instance = $3 AND r.job_id = $4)
  AND (r.attempts >= $1 OR EXISTS (
    SELECT FROM runs s JOIN attempts a ON a.instance = s.instance AND a.run_id = s.id
    WHERE s.instance = r.instance AND s.job_id = r.job_id AND s.action_hash = r.action_hash
      AND a.outcome = 'final') OR EXISTS (
    SELECT FROM action_results f WHERE f.instance = r.instance AND f.job_id = r.job_id
      AND f.action_hash = r.action_hash AND f.exit_code <> 0
      AND f.operator || '/' || f.worker = ANY(r.excluded_workers)))
  AND NOT )sql") +
         anotherWorker("$1", "$2", "true") +
         " ORDER BY r.instance, r.id LIMIT 100 FOR UPDATE OF r SKIP LOCKED";
}

// Who failed last at the action $3 of the job $1, $2.
constexpr char kLastFailure[] =
    "SELECT a.worker, a.operator, a.error_code, a.error FROM runs s JOIN attempts a ON a.instance = "
    "s.instance AND a.run_id = s.id WHERE s.instance = $1 AND s.job_id = $2 AND s.action_hash = $3 AND "
    "a.outcome IN ('failed', 'final', 'lost') ORDER BY a.outcome = 'final' DESC, a.ended DESC, a.run_id "
    "LIMIT 1";

// Gives a run that nobody tried what was said of its action.
Status inheritFailure(Connection& connection, RunRecord& run) {
  KILN_ASSIGN(Rows rows,
              connection.execute(kLastFailure, {run.instance, run.jobId, index::hashParam(run.action)}));
  KILN_TRY(rows.map([&](const Row& row) {
    run.worker = row.get<std::string>("worker");
    run.operatorName = row.get<std::string>("operator");
    run.errorCode = row.get<int>("error_code");
    run.errorMessage = row.get<std::string>("error");
    return 0;
  }));
  return {};
}

struct Tried {
  int workers = 0, final = 0;
};

}  // namespace

// What is for a device of its own runs on emulated ones where the run wants that, processors serve both.
std::string anotherWorker(std::string_view attempts, std::string_view liveSince, std::string_view further) {
  return fmt::format(R"sql(EXISTS (
  SELECT FROM (SELECT *, {}::integer AS attempts FROM fleet) w
  WHERE NOT w.draining AND w.slots > 0 AND w.last_contact >= {}::timestamptz AND {}
    AND (w.instances IS NULL OR r.instance = ANY(w.instances))
    AND r.kind = ANY(w.kinds)
    AND (r.target = '' OR string_to_array(r.target, ',') <@
      CASE WHEN r.kind NOT IN (4, 7) THEN w.targets
        WHEN r.emulated THEN w.emulates || ARRAY(SELECT t FROM unnest(w.runs) t WHERE t LIKE 'cpu:%')
        ELSE w.runs END)
    AND {}))sql",
                     attempts, liveSince, further, kEligibilitySql);
}

Result<bool> shouldRetry(Connection& connection, const RunRecord& run, const RetryPolicy& policy) {
  KILN_ASSIGN(Rows rows, connection.execute(kTried, {run.instance, run.id}));
  KILN_ASSIGN(const auto tried,
              rows.first([](const Row& row) { return Tried{row.get<int>("tried"), row.get<int>("final")}; }));
  const bool usedUp = run.attempts >= policy.attempts;
  if (tried->final > 1 || (usedUp && tried->workers > 1)) return false;
  if (!usedUp && tried->final == 0) return true;
  KILN_ASSIGN(Rows found,
              connection.execute(findAnother(), {policy.attempts, policy.liveSince, run.instance, run.id}));
  KILN_ASSIGN(const auto another, found.first([](const Row& row) { return row.get<bool>("found"); }));
  return another.value_or(false);
}

Result<std::vector<RunRecord>> lockAbandoned(Connection& connection, const RetryPolicy& policy,
                                             const std::optional<index::JobKey>& job) {
  std::optional<std::string> instance, id;
  if (job) instance = job->instance, id = job->id;
  KILN_ASSIGN(Rows rows,
              connection.execute(findAbandoned(), {policy.attempts, policy.liveSince, instance, id}));
  KILN_ASSIGN(auto runs, rows.map(index::runAt));
  for (RunRecord& run : runs)
    if (run.attempts == 0) KILN_TRY(inheritFailure(connection, run));
  return runs;
}

}  // namespace kiln::queue
