#include "coordinator/queue/lanes.h"

#include <fmt/format.h>

#include <vector>

#include "coordinator/queue/reputation.h"
#include "coordinator/queue/retry_policy.h"
#include "storage/index/rows/codec.h"
#include "storage/index/rows/run_codec.h"

namespace kiln::queue {
namespace {

using index::RunRecord;
using postgres::Connection;
using postgres::Param;
using postgres::Row;
using postgres::Rows;

// Each step of the recursion is one descent of the index, to the first run behind the lane. $1 kinds,
// $2 instances, NULL for all, $3 targets, $4 as $3 for what wants a device, $5 for an emulated one, $6 warm
// toolchains, $7 their advantage in seconds, $8 to $10 instances with their weights and limits of what runs,
// -1 for none, $11 and $12 the same of all others. Kinds 4 and 7 are checks and tunes, which want devices.
constexpr char kLanes[] = R"sql(
WITH RECURSIVE lanes AS (
  (SELECT priority, instance, kind, target, emulated, toolchain_hash, rank, id FROM runs WHERE state = 0
    ORDER BY priority, instance, kind, target, emulated, toolchain_hash, rank, id LIMIT 1)
  UNION ALL
  SELECT next.* FROM lanes l CROSS JOIN LATERAL (
    SELECT r.priority, r.instance, r.kind, r.target, r.emulated, r.toolchain_hash, r.rank, r.id FROM runs r
    WHERE r.state = 0 AND (r.priority, r.instance, r.kind, r.target, r.emulated, r.toolchain_hash)
      > (l.priority, l.instance, l.kind, l.target, l.emulated, l.toolchain_hash)
    ORDER BY r.priority, r.instance, r.kind, r.target, r.emulated, r.toolchain_hash, r.rank, r.id LIMIT 1) next),
running AS (SELECT instance, count(*) AS runs FROM runs WHERE state = 1 GROUP BY instance)
SELECT l.* FROM lanes l LEFT JOIN running n ON n.instance = l.instance
LEFT JOIN unnest($8::text[], $9::integer[], $10::integer[]) AS q(instance, weight, most) ON q.instance = l.instance
WHERE l.kind = ANY($1::smallint[])
  AND ($2::text[] IS NULL OR l.instance = ANY($2::text[]))
  AND (l.target = '' OR string_to_array(l.target, ',') <@
    CASE WHEN l.kind NOT IN (4, 7) THEN $3::text[] WHEN l.emulated THEN $5::text[] ELSE $4::text[] END)
  AND (coalesce(q.most, $12::integer) < 0 OR coalesce(n.runs, 0) < coalesce(q.most, $12::integer))
ORDER BY l.priority DESC, coalesce(n.runs, 0)::double precision / coalesce(q.weight, $11::integer),
  l.rank - CASE WHEN l.toolchain_hash = ANY($6::bytea[]) THEN make_interval(secs => $7::double precision)
    ELSE interval '0' END, l.id, l.instance)sql";

Param hashes(const std::vector<Digest>& digests) {
  std::vector<std::vector<std::uint8_t>> out;
  for (const Digest& digest : digests) out.emplace_back(digest.hash.begin(), digest.hash.end());
  return out;
}

// The rules as kLanes takes them.
struct QuotaColumns {
  std::vector<std::string> instances;
  std::vector<std::int64_t> weights, limits;
};

QuotaColumns columnsOf(const quota::QuotaRules& rules) {
  QuotaColumns out;
  for (const auto& [instance, quota] : rules.named()) {
    out.instances.push_back(instance);
    out.weights.push_back(quota.weight);
    out.limits.push_back(quota.running.value_or(-1));
  }
  return out;
}

Lane laneAt(const Row& row) {
  return {.priority = row.get<int>("priority"),
          .instance = row.get<std::string>("instance"),
          .kind = static_cast<index::ActionKind>(row.get<int>("kind")),
          .target = row.get<std::string>("target"),
          .emulated = row.get<bool>("emulated"),
          .toolchain = index::hashAt(row, "toolchain_hash")};
}

// Over a run r: as many others lease its action in other jobs of its instance as its own job has queued. What
// they leave will count for it (index::resultsOfJob), so it waits for that. Not so where it may take no
// results of other jobs, nor where the other's evidence is counted already; a tune's result is its job's.
constexpr char kRunsElsewhere[] = R"sql(
  r.kind <> 7 AND (SELECT j.reuse FROM jobs j WHERE j.instance = r.instance AND j.id = r.job_id)
  AND (SELECT count(*) FROM runs o WHERE o.instance = r.instance AND o.action_hash = r.action_hash
      AND o.state = 1 AND o.job_id <> r.job_id
      AND NOT (o.operator || '/' || o.worker = ANY(r.excluded_workers)))
    >= (SELECT count(*) FROM runs s WHERE s.instance = r.instance AND s.job_id = r.job_id
      AND s.action_hash = r.action_hash AND s.state = 0))sql";

// A statement and the values of its parameters.
struct Statement {
  std::string sql;
  std::vector<Param> params;
};

// $1 to $6 the lane, $7 worker, $8 operator, $9 the limit of attempts, $10 now. What is asked of other
// workers stands there only where it counts: planning it takes longer than all the rest.
Statement nextOfLane(const Lane& lane, const Taker& taker) {
  Statement out;
  out.params = {lane.priority, lane.instance,      static_cast<int>(lane.kind),
                lane.target,   lane.emulated,      index::hashParam(lane.toolchain),
                taker.worker,  taker.operatorName, taker.attempts,
                taker.now};
  const std::string other = "NOT (w.name = $7::text AND w.operator = $8::text)";
  std::string others;
  if (taker.yieldsSince || taker.newSince) out.params.emplace_back(taker.liveSince);  // $11
  if (taker.yieldsSince) {
    out.params.emplace_back(*taker.yieldsSince);
    others += fmt::format(
        "\n  AND NOT (r.queued > ${}::timestamptz AND {})", out.params.size(),
        anotherWorker(
            "$9", "$11",
            other +
                " AND coalesce(w.held_back_until <= $10::timestamptz, true) AND (SELECT count(*) "
                "FROM runs b WHERE b.worker = w.name AND b.operator = w.operator AND b.state = 1) < "
                "least(w.slots, w.proven + " +
                std::to_string(kUnprovenSlots) + ")"));
  }
  if (taker.newSince) {
    out.params.emplace_back(*taker.newSince);
    others +=
        fmt::format("\n  AND NOT (r.attempts = 0 AND r.queued > ${}::timestamptz AND {})", out.params.size(),
                    anotherWorker("$9", "$11",
                                  other + " AND NOT EXISTS (SELECT FROM runs b WHERE b.worker = w.name AND "
                                          "b.operator = w.operator AND b.state = 1)"));
  }
  out.sql = fmt::format(R"sql(
SELECT r.* FROM runs r CROSS JOIN (SELECT $7::text AS name, $8::text AS operator, $9::integer AS attempts) w
WHERE r.state = 0 AND r.priority = $1 AND r.instance = $2 AND r.kind = $3 AND r.target = $4 AND r.emulated = $5
  AND r.toolchain_hash = $6
  AND coalesce(r.not_before <= $10::timestamptz, true) AND coalesce(r.job_deadline > $10::timestamptz, true)
  AND NOT (r.avoid_worker = $8::text || '/' || $7::text AND r.avoid_until > $10::timestamptz){}
  AND NOT ({})
  AND {}
ORDER BY r.rank, r.id LIMIT 1 FOR UPDATE OF r SKIP LOCKED)sql",
                        others, kRunsElsewhere, kEligibilitySql);
  return out;
}

}  // namespace

Result<std::vector<Lane>> lanesFor(Connection& connection, const LaneFilter& filter) {
  const double advantage = std::chrono::duration<double>(filter.warmAdvantage).count();
  const quota::QuotaRules rules = filter.quotas ? *filter.quotas : quota::QuotaRules();
  const QuotaColumns named = columnsOf(rules);
  KILN_ASSIGN(Rows rows,
              connection.execute(
                  kLanes, {filter.kinds, filter.instances, filter.targets, filter.runsOn, filter.emulatedOn,
                           hashes(filter.warmToolchains), advantage, named.instances, named.weights,
                           named.limits, rules.others().weight, rules.others().running.value_or(-1)}));
  return rows.map(laneAt);
}

Result<std::optional<RunRecord>> lockNext(Connection& connection, const Lane& lane, const Taker& taker) {
  const Statement next = nextOfLane(lane, taker);
  KILN_ASSIGN(Rows rows, connection.execute(next.sql, next.params));
  return rows.first(index::runAt);
}

}  // namespace kiln::queue
