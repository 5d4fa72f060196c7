#include "coordinator/queue/lease_queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/index/farm_repository.h"
#include "storage/index/result_repository.h"
#include "storage/index/run_codec.h"

namespace kiln::queue {
namespace {

using index::RunRecord;
using postgres::Connection;
using postgres::Param;
using postgres::Row;
using postgres::Rows;

// $1 worker, $2 operator, $3 kinds, $4 targets, $5 warm toolchains, $6 now, $7 warm advantage in seconds, $8
// targets whose programs its free devices execute, $9 its instances, NULL for all, $10 as $8 for checks that
// want an emulated device. Kinds 4 and 7 are checks and tunes, which want devices; a tune also wants its
// worker to itself, from before it begins until it ends. A program for several targets ("a,b") wants a worker
// of all of them.
constexpr char kNext[] = R"sql(
WITH load AS (SELECT instance, count(*) AS running FROM runs WHERE state = 1 GROUP BY instance)
SELECT r.* FROM runs r LEFT JOIN load l ON l.instance = r.instance
WHERE r.state = 0
  AND r.kind = ANY($3::smallint[])
  AND ($9::text[] IS NULL OR r.instance = ANY($9::text[]))
  AND (r.target = '' OR string_to_array(r.target, ',') <@
    CASE WHEN r.kind NOT IN (4, 7) THEN $4::text[] WHEN r.emulated THEN $10::text[] ELSE $8::text[] END)
  AND NOT EXISTS (SELECT FROM runs b WHERE b.worker = $1::text AND b.state = 1 AND (r.kind = 7 OR b.kind = 7))
  AND NOT $1::text = ANY(r.excluded_workers)
  AND NOT (r.avoid_worker = $1::text AND r.avoid_until > $6::timestamptz)
  AND NOT EXISTS (
    SELECT FROM runs s WHERE s.instance = r.instance AND s.job_id = r.job_id AND s.action_hash = r.action_hash
      AND s.id <> r.id AND s.worker = $1::text AND s.state IN (1, 2))
  AND r.operators_wanted <= (
    -- distinct operators once this worker has the run, and every sibling still queued went to a new one
    SELECT count(DISTINCT o.name) FROM (
        SELECT unnest(r.counted_operators) AS name UNION ALL SELECT $2::text UNION ALL
        SELECT s.operator FROM runs s WHERE s.instance = r.instance AND s.job_id = r.job_id
          AND s.action_hash = r.action_hash AND s.id <> r.id AND s.state IN (1, 2)) o)
    + (SELECT count(*) FROM runs s WHERE s.instance = r.instance AND s.job_id = r.job_id
        AND s.action_hash = r.action_hash AND s.id <> r.id AND s.state = 0)
ORDER BY r.priority DESC, coalesce(l.running, 0),
  r.queued - CASE WHEN r.toolchain_hash = ANY($5::bytea[]) THEN make_interval(secs => $7::double precision)
    ELSE interval '0' END, r.id
LIMIT 1 FOR UPDATE OF r SKIP LOCKED)sql";

constexpr char kEnded[] =
    "UPDATE attempts SET ended = $4, outcome = $5, error = $6 WHERE instance = $1 AND run_id = $2 AND epoch "
    "= $3";

// What the worker's leases hold of its devices.
constexpr char kHeld[] = "SELECT unnest(devices) AS device FROM runs WHERE worker = $1 AND state = 1";

// The lease as long as it is current; a second reporter waits for the first and then finds it gone.
constexpr char kCurrent[] =
    "SELECT * FROM runs WHERE worker = $1 AND state = 1 AND id = $2 AND epoch = $3 FOR UPDATE";

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Param hashes(const std::vector<Digest>& digests) {
  std::vector<std::vector<std::uint8_t>> out;
  for (const Digest& digest : digests) out.emplace_back(digest.hash.begin(), digest.hash.end());
  return out;
}

Result<std::vector<ClaimedDevice>> freeDevices(Connection& connection, const Claim& claim) {
  std::vector<ClaimedDevice> devices = claim.devices;
  if (devices.empty()) return devices;
  KILN_ASSIGN(Rows rows, connection.execute(kHeld, {claim.worker}));
  KILN_ASSIGN(auto held, rows.map([](const Row& row) { return row.get<std::string>("device"); }));
  std::erase_if(
      devices, [&](const ClaimedDevice& device) { return std::ranges::find(held, device.id) != held.end(); });
  return devices;
}

Result<std::optional<RunRecord>> lockCurrent(Connection& connection, const LeaseKey& key) {
  KILN_ASSIGN(Rows rows, connection.execute(kCurrent, {key.worker, key.id, key.epoch}));
  return rows.first(index::runAt);
}

// Ends a leased run without a result.
Status giveUp(Connection& connection, const RunRecord& run, const Error& error, bool again,
              const char* outcome, TimePoint now, const std::string& avoid, TimePoint avoidUntil) {
  KILN_TRY(connection.execute(
      "UPDATE runs SET state = $3, error_code = $4, error_message = $5, stage = '', expires = NULL, "
      "avoid_worker = $6, "
      "avoid_until = $7 WHERE instance = $1 AND id = $2",
      {run.instance, run.id, static_cast<int>(again ? index::RunState::kQueued : index::RunState::kFailed),
       static_cast<int>(error.code), error.message, avoid, avoidUntil}));
  KILN_TRY(connection.execute(kEnded, {run.instance, run.id, run.epoch, now, outcome, error.message}));
  return {};
}

}  // namespace

Result<std::optional<RunRecord>> LeaseQueue::acquire(Connection& connection, const Claim& claim) const {
  TimePoint now = clock_.now();
  std::vector<std::int64_t> kinds;
  for (index::ActionKind kind : claim.kinds) kinds.push_back(static_cast<int>(kind));
  // Two calls for one worker at once could each lease a sibling: one goes after the other.
  KILN_TRY(connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('kiln worker ' || $1::text, 0))",
                              {claim.worker}));
  KILN_ASSIGN(const std::vector<ClaimedDevice> devices, freeDevices(connection, claim));
  KILN_ASSIGN(Rows rows, connection.execute(
                             kNext, {claim.worker, claim.operatorName, kinds, claim.targets,
                                     hashes(claim.warmToolchains), now, seconds(settings_.warmAdvantage),
                                     servedBy(devices, false), claim.instances, servedBy(devices, true)}));
  KILN_ASSIGN(auto found, rows.first(index::runAt));
  if (!found) return found;
  KILN_ASSIGN(std::uint64_t generation, index::currentGeneration(connection));
  RunRecord run = std::move(*found);
  run.state = index::RunState::kLeased;
  run.attempts += 1;
  run.epoch = std::max(run.epoch, generation << 32) + 1;
  run.worker = claim.worker;
  run.operatorName = claim.operatorName;
  run.expires = now + settings_.lease;
  run.stage.clear();
  run.devices.clear();
  if (index::wantsDevice(run.kind)) run.devices = devicesFor(run.target, run.emulated, devices);
  KILN_TRY(connection.execute(
      "UPDATE runs SET state = 1, attempts = $3, epoch = $4, worker = $5, operator = $6, expires = $7, stage "
      "= '', devices = $8 "
      "WHERE instance = $1 AND id = $2",
      {run.instance, run.id, run.attempts, run.epoch, run.worker, run.operatorName, run.expires,
       run.devices}));
  KILN_TRY(
      connection.execute("INSERT INTO attempts (instance, run_id, epoch, worker, operator, leased) VALUES "
                         "($1, $2, $3, $4, $5, $6)",
                         {run.instance, run.id, run.epoch, run.worker, run.operatorName, now}));
  return std::optional<RunRecord>(std::move(run));
}

Result<bool> LeaseQueue::extend(Connection& connection, const LeaseKey& key, const std::string& stage) const {
  KILN_ASSIGN(Rows rows,
              connection.execute("UPDATE runs SET expires = $4, stage = $5 WHERE worker = $1 AND state = 1 "
                                 "AND id = $2 AND epoch = $3",
                                 {key.worker, key.id, key.epoch, clock_.now() + settings_.lease, stage}));
  return rows.affected() > 0;
}

Result<std::optional<RunRecord>> LeaseQueue::find(Connection& connection, const LeaseKey& key) const {
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT * FROM runs WHERE worker = $1 AND state = 1 AND id = $2 AND epoch = $3",
                             {key.worker, key.id, key.epoch}));
  return rows.first(index::runAt);
}

Result<std::optional<RunRecord>> LeaseQueue::findCancelled(Connection& connection,
                                                           const LeaseKey& key) const {
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT * FROM runs WHERE worker = $1 AND state = 4 AND id = $2 AND epoch = $3",
                             {key.worker, key.id, key.epoch}));
  return rows.first(index::runAt);
}

Result<TimePoint> LeaseQueue::leasedAt(Connection& connection, const RunRecord& run) const {
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT leased FROM attempts WHERE instance = $1 AND run_id = $2 AND epoch = $3",
                             {run.instance, run.id, run.epoch}));
  KILN_ASSIGN(auto leased, rows.first([](const Row& row) { return row.get<TimePoint>("leased"); }));
  if (!leased) return fail(Code::kInternal, "a lease without its attempt");
  return *leased;
}

Result<std::vector<RunRecord>> LeaseQueue::leasedTo(Connection& connection, const std::string& worker) const {
  KILN_ASSIGN(
      Rows rows,
      connection.execute("SELECT * FROM runs WHERE worker = $1 AND state = 1 ORDER BY queued, id", {worker}));
  return rows.map(index::runAt);
}

Result<bool> LeaseQueue::complete(Connection& connection, const LeaseKey& key,
                                  const index::ResultRecord& result) const {
  KILN_ASSIGN(auto run, lockCurrent(connection, key));
  if (!run) return false;
  KILN_TRY(connection.execute("UPDATE runs SET state = 2, expires = NULL WHERE instance = $1 AND id = $2",
                              {run->instance, run->id}));
  KILN_TRY(connection.execute(kEnded, {run->instance, run->id, run->epoch, clock_.now(), "done", ""}));
  KILN_TRY(index::insertResult(connection, result));
  return true;
}

Result<bool> LeaseQueue::reject(Connection& connection, const LeaseKey& key, const Error& error,
                                bool retryable) const {
  KILN_ASSIGN(auto run, lockCurrent(connection, key));
  if (!run) return false;
  TimePoint now = clock_.now();
  bool again = retryable && run->attempts < settings_.attempts;
  KILN_TRY(giveUp(connection, *run, error, again, "failed", now, run->worker, now + settings_.lease));
  return true;
}

Result<std::vector<index::JobKey>> LeaseQueue::expire(Connection& connection) const {
  TimePoint now = clock_.now();
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT * FROM runs WHERE state = 1 AND expires < $1 ORDER BY expires "
                                 "LIMIT 100 FOR UPDATE SKIP LOCKED",
                                 {now}));
  KILN_ASSIGN(auto runs, rows.map(index::runAt));
  std::vector<index::JobKey> jobs;
  for (const RunRecord& run : runs) {
    Error error{Code::kUnavailable,
                fmt::format("worker {} was silent for longer than the lease of {} s", run.worker,
                            std::chrono::duration_cast<std::chrono::seconds>(settings_.lease).count()),
                {}};
    KILN_TRY(giveUp(connection, run, error, run.attempts < settings_.attempts, "lost", now, "", now));
    jobs.push_back({run.instance, run.jobId});
  }
  return jobs;
}

Status LeaseQueue::extendAll(Connection& connection) const {
  KILN_TRY(connection.execute("UPDATE runs SET expires = $1 WHERE state = 1 AND expires < $1",
                              {clock_.now() + settings_.lease}));
  return {};
}

}  // namespace kiln::queue
