// Whether a run that ended badly is tried again, and by whom. One worker's word about a failure, whatever it
// says of it, is evidence of one builder: it counts, and another worker is asked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/clock.h"
#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::queue {

// SQL over a run r and a worker w (name, operator, attempts: the limit per run): w may take r as far as what
// it and others did for the same action of the same job goes. It runs or has run no other share of it, its
// evidence is not counted already, it has not said the last word about it, nor has it alone used up the
// attempts; and enough distinct operators stay within reach. Excluded are "operator/name", or a name alone,
// which stands for that of every operator. What must not be there is written as a scalar subquery: of NOT
// EXISTS the planner may make a join, which reads every run of the farm for the one that is wanted.
inline constexpr char kEligibilitySql[] = R"sql(
  NOT (w.name = ANY(r.excluded_workers) OR w.operator || '/' || w.name = ANY(r.excluded_workers))
  AND (SELECT s.id FROM runs s
    WHERE s.instance = r.instance AND s.job_id = r.job_id AND s.action_hash = r.action_hash
      AND s.id <> r.id AND s.worker = w.name AND s.operator = w.operator AND s.state IN (1, 2) LIMIT 1) IS NULL
  AND (SELECT s.id FROM runs s JOIN attempts a ON a.instance = s.instance AND a.run_id = s.id
    WHERE s.instance = r.instance AND s.job_id = r.job_id AND s.action_hash = r.action_hash
      AND a.worker = w.name AND a.operator = w.operator AND (a.outcome = 'final'
        OR a.outcome IN ('failed', 'lost') AND s.id = r.id AND r.attempts >= w.attempts) LIMIT 1) IS NULL
  AND r.operators_wanted <= (
    -- distinct operators once this worker has the run, and every sibling still queued went to a new one
    SELECT count(DISTINCT o.name) FROM (
        SELECT unnest(r.counted_operators) AS name UNION ALL SELECT w.operator UNION ALL
        SELECT s.operator FROM runs s WHERE s.instance = r.instance AND s.job_id = r.job_id
          AND s.action_hash = r.action_hash AND s.id <> r.id AND s.state IN (1, 2)) o)
    + (SELECT count(*) FROM runs s WHERE s.instance = r.instance AND s.job_id = r.job_id
        AND s.action_hash = r.action_hash AND s.id <> r.id AND s.state = 0))sql";

// SQL over a run r: whether a worker that calls could take it, as requirements.cc and kEligibilitySql say.
// Parameters by name ("$1"): the limit of attempts, since when a live worker has called; and a further
// condition on w, its row of the fleet.
std::string anotherWorker(std::string_view attempts, std::string_view liveSince, std::string_view further);

// The numbers of the retry policy.
struct RetryPolicy {
  int attempts = 3;     // leases per run
  TimePoint liveSince;  // a worker that has not called since then takes nothing
};

// (T) Whether `run`, whose last lease has just ended badly and whose attempt says so, is to be queued again.
// Not once two workers have said that it can never succeed; not once the attempts are used up by more than
// one worker; and, where one worker alone said the last word or used them up, not if there is no other worker
// that could take it.
Result<bool> shouldRetry(postgres::Connection& connection, const index::RunRecord& run,
                         const RetryPolicy& policy);

// (T) Locks the queued runs, of one job or of all, that wait for another worker and that no worker could
// take; at most 100. They wait for another one where somebody said the last word about their action, where
// their attempts are used up, or where they are to confirm the failure that a worker's tool ended with. Of a
// run that nobody tried, worker and error become those of who failed last at its action, if anybody did.
Result<std::vector<index::RunRecord>> lockAbandoned(postgres::Connection& connection,
                                                    const RetryPolicy& policy,
                                                    const std::optional<index::JobKey>& job);

}  // namespace kiln::queue
