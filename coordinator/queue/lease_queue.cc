#include "coordinator/queue/lease_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "coordinator/queue/lanes.h"
#include "coordinator/queue/retry_policy.h"
#include "storage/index/fleet/farm_repository.h"
#include "storage/index/jobs/duration_repository.h"
#include "storage/index/jobs/result_repository.h"
#include "storage/index/rows/codec.h"
#include "storage/index/rows/run_codec.h"

namespace kiln::queue {
namespace {

using index::RunRecord;
using postgres::Connection;
using postgres::Param;
using postgres::Row;
using postgres::Rows;

constexpr char kEnded[] =
    "UPDATE attempts SET ended = $4, outcome = $5, error = $6, error_code = $7 WHERE instance = $1 AND "
    "run_id "
    "= $2 AND epoch = $3";

// Who called this recently is there: an idle worker's call lasts some seconds.
Duration liveFor(const Settings& settings) {
  return std::max<Duration>(settings.lease, std::chrono::seconds(15));
}

// After a start, a worker that was there this recently may only not have called yet.
constexpr Duration kKnownFor = std::chrono::hours(24);

// How long a run waits for others than a worker whose leases end badly.
constexpr Duration kYield = std::chrono::minutes(5);

// How long a job that waits for an equal action has for counting a result of it, before it runs itself.
constexpr Duration kLookFirst = std::chrono::seconds(5);

// What the worker's leases hold of its devices.
constexpr char kHeld[] =
    "SELECT unnest(devices) AS device FROM runs WHERE worker = $1 AND operator = $2 AND state = 1";

// Two calls for one worker at once could each lease a sibling: one goes after the other. And until the end of
// the transaction lanes are read from their front by the index, which is in their order. PostgreSQL expects
// hardly any run to be one that the worker may take; so it would rather read a whole lane at once, and sort
// it.
constexpr char kOneAtATime[] =
    "SELECT pg_advisory_xact_lock(hashtextextended('kiln worker ' || $1::text, 0)), "
    "set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)";

// The one place that says whose a lease is: $1 to $4 are mine(). A coordinator of the release before gave its
// leases without a key.
constexpr char kMine[] =
    "worker = $1 AND operator = $2 AND worker_key IN ($3, ''::bytea) AND ($4::text[] IS NULL OR instance = "
    "ANY($4::text[]))";

std::vector<Param> mine(const Identity& worker, std::initializer_list<Param> further) {
  std::vector<Param> out{worker.name, worker.operatorName, index::hashParam(worker.key), worker.instances};
  out.insert(out.end(), further.begin(), further.end());
  return out;
}

// The run that `key` names, in this state.
Result<std::optional<RunRecord>> findMine(Connection& connection, const LeaseKey& key, index::RunState state,
                                          bool lock) {
  KILN_ASSIGN(Rows rows, connection.execute(std::string("SELECT * FROM runs WHERE ") + kMine +
                                                " AND id = $5 AND epoch = $6 AND state = $7" +
                                                (lock ? " FOR UPDATE" : ""),
                                            mine(key.worker, {key.id, key.epoch, static_cast<int>(state)})));
  return rows.first(index::runAt);
}

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Result<std::vector<ClaimedDevice>> freeDevices(Connection& connection, const Claim& claim) {
  std::vector<ClaimedDevice> devices = claim.devices;
  if (devices.empty()) return devices;
  KILN_ASSIGN(Rows rows, connection.execute(kHeld, {claim.worker.name, claim.worker.operatorName}));
  KILN_ASSIGN(auto held, rows.map([](const Row& row) { return row.get<std::string>("device"); }));
  std::erase_if(
      devices, [&](const ClaimedDevice& device) { return std::ranges::find(held, device.id) != held.end(); });
  return devices;
}

struct Busy {
  int leases = 0;
  bool tunes = false;  // and wants the worker to itself
};

Result<Busy> busyWith(Connection& connection, const Identity& worker) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT count(*)::integer AS leases, coalesce(bool_or(kind = 7), false) AS "
                                 "tunes FROM runs WHERE worker = $1 AND operator = $2 AND state = 1",
                                 {worker.name, worker.operatorName}));
  KILN_ASSIGN(auto busy, rows.first([](const Row& row) {
    return Busy{row.get<int>("leases"), row.get<bool>("tunes")};
  }));
  return busy.value_or(Busy{});
}

// The lease as long as it is current; a second reporter waits for the first and then finds it gone.
Result<std::optional<RunRecord>> lockCurrent(Connection& connection, const LeaseKey& key) {
  return findMine(connection, key, index::RunState::kLeased, true);
}

// How a lease ended without a result. The run goes at first not to the worker `avoided` ("operator/name"),
// until `avoidedUntil`.
struct BadEnd {
  Error error;
  const char* outcome;  // as attempts.outcome says it
  TimePoint at;
  std::string avoided;
  TimePoint avoidedUntil;
};

// The run is queued again, or failed if nobody is to try it any more.
Status giveUp(Connection& connection, const RunRecord& run, const BadEnd& end, const RetryPolicy& policy) {
  KILN_TRY(connection.execute(kEnded, {run.instance, run.id, run.epoch, end.at, end.outcome,
                                       end.error.message, static_cast<int>(end.error.code)}));
  KILN_ASSIGN(const bool again, shouldRetry(connection, run, policy));
  KILN_TRY(connection.execute(
      "UPDATE runs SET state = $3, error_code = $4, error_message = $5, stage = '', expires = NULL, "
      "avoid_worker = $6, "
      "avoid_until = $7 WHERE instance = $1 AND id = $2",
      {run.instance, run.id, static_cast<int>(again ? index::RunState::kQueued : index::RunState::kFailed),
       static_cast<int>(end.error.code), end.error.message, end.avoided, end.avoidedUntil}));
  return {};
}

// What lies further ahead than it can have been set, by a lease time, was set by a clock that has been put
// back since: nobody is to wait for that. A worker that was held back, or called, by such a clock starts
// anew.
Status forgetOtherClocks(Connection& connection, const Settings& settings, TimePoint now) {
  const TimePoint lease = now + settings.lease, most = lease + settings.lease;
  KILN_TRY(connection.execute(
      "UPDATE runs SET expires = least(expires, $1), deadline = least(deadline, $3::timestamptz + "
      "make_interval(secs => time_limit + $4::double precision)) WHERE state = 1 AND (expires > $2 OR "
      "deadline "
      "> $2::timestamptz + make_interval(secs => time_limit + $4::double precision))",
      {lease, most, now, seconds(settings.overhead)}));
  KILN_TRY(connection.execute("UPDATE runs SET avoid_until = $1 WHERE state = 0 AND avoid_until > $2",
                              {lease, most}));
  KILN_TRY(
      connection.execute("UPDATE runs SET not_before = NULL WHERE state = 0 AND not_before > $1", {lease}));
  KILN_TRY(connection.execute(
      "UPDATE fleet SET last_contact = least(last_contact, $1), held_back_until = CASE WHEN held_back_until "
      "> "
      "$3 THEN NULL ELSE held_back_until END WHERE last_contact > $2 OR held_back_until > $3",
      {now, lease, most + kMaxBackoff}));
  return {};
}

// Whether a rejected lease counts against its worker at once. What the store or the host was unable to do
// does not, nor that the submitter's time limit was over, where it was by `limited`. A last word may be true,
// and is then the submitter's doing: it counts once another worker's success contradicts it.
bool isBadEnd(const RunRecord& run, const Error& error, bool retryable, TimePoint limited) {
  if (retryable) return error.code != Code::kUnavailable;
  return error.code == Code::kDeadlineExceeded && !(run.deadline && *run.deadline <= limited);
}

// How the run's leases ended, once it is done, in one order of locking for all. Not so for an action of a
// client: it may end in one way and in another as its client pleases.
Result<std::map<std::pair<std::string, std::string>, LeaseOutcome>> outcomesOf(Connection& connection,
                                                                               const RunRecord& run,
                                                                               bool succeeded) {
  std::map<std::pair<std::string, std::string>, LeaseOutcome> out;
  if (succeeded && run.kind != index::ActionKind::kExecute) {
    KILN_ASSIGN(Rows rows,
                connection.execute("SELECT operator, worker FROM attempts WHERE instance = $1 AND run_id = "
                                   "$2 AND outcome = 'final' AND error_code <> $3",
                                   {run.instance, run.id, static_cast<int>(Code::kDeadlineExceeded)}));
    KILN_TRY(rows.map([&](const Row& row) {
      out[{row.get<std::string>("operator"), row.get<std::string>("worker")}] = LeaseOutcome::kBad;
      return 0;
    }));
  }
  out[{run.operatorName, run.worker}] = LeaseOutcome::kGood;
  return out;
}

Error overrun(const RunRecord& run) {
  return {Code::kDeadlineExceeded,
          fmt::format("worker {} had not finished when its time limit of {} s was over by the coordinator's "
                      "clock",
                      run.worker, run.timeLimitSeconds),
          {}};
}

Error silence(const RunRecord& run, Duration lease) {
  return {Code::kUnavailable,
          fmt::format("worker {} was silent for longer than the lease of {} s", run.worker,
                      std::chrono::duration_cast<std::chrono::seconds>(lease).count()),
          {}};
}

}  // namespace

Result<std::optional<RunRecord>> LeaseQueue::choose(Connection& connection, const Claim& claim,
                                                    const std::vector<ClaimedDevice>& devices) const {
  const TimePoint now = clock_.now();
  KILN_ASSIGN(const Reputation reputation,
              reputationOf(connection, claim.worker.operatorName, claim.worker.name, now));
  KILN_ASSIGN(const Busy busy, busyWith(connection, claim.worker));
  if (busy.leases >= reputation.slots || busy.tunes) return std::optional<RunRecord>();
  LaneFilter filter{.kinds = {},
                    .targets = claim.targets,
                    .runsOn = servedBy(devices, false),
                    .emulatedOn = servedBy(devices, true),
                    .instances = claim.worker.instances,
                    .warmToolchains = claim.warmToolchains,
                    .quotas = claim.quotas,
                    .warmAdvantage = settings_.warmAdvantage};
  for (const index::ActionKind kind : claim.kinds)
    if (kind != index::ActionKind::kTune || busy.leases == 0) filter.kinds.push_back(static_cast<int>(kind));
  Taker taker{.worker = claim.worker.name,
              .operatorName = claim.worker.operatorName,
              .now = now,
              .attempts = settings_.attempts,
              .liveSince = now - liveFor(settings_),
              .yieldsSince = {},
              .newSince = {}};
  if (reputation.heldBack) taker.yieldsSince = now - kYield;
  if (busy.leases > 0) taker.newSince = now - settings_.idleFirst;
  KILN_ASSIGN(const std::vector<Lane> lanes, lanesFor(connection, filter));
  for (const Lane& lane : lanes) {
    KILN_ASSIGN(auto run, lockNext(connection, lane, taker));
    if (run) return run;
  }
  return std::optional<RunRecord>();
}

Result<std::optional<RunRecord>> LeaseQueue::acquire(Connection& connection, const Claim& claim) const {
  const TimePoint now = clock_.now();
  KILN_TRY(connection.execute(kOneAtATime, {claim.worker.operatorName + "/" + claim.worker.name}));
  KILN_ASSIGN(const std::vector<ClaimedDevice> devices, freeDevices(connection, claim));
  KILN_ASSIGN(auto found, choose(connection, claim, devices));
  if (!found) return found;
  KILN_ASSIGN(std::uint64_t generation, index::currentGeneration(connection));
  RunRecord run = std::move(*found);
  run.state = index::RunState::kLeased;
  run.attempts += 1;
  run.epoch = std::max(run.epoch, generation << 32) + 1;
  run.worker = claim.worker.name;
  run.operatorName = claim.worker.operatorName;
  if (run.jobDeadline)  // later than now, or it was not chosen
    run.timeLimitSeconds =
        static_cast<int>(std::min(std::chrono::seconds(run.timeLimitSeconds),
                                  std::chrono::ceil<std::chrono::seconds>(*run.jobDeadline - now))
                             .count());
  run.deadline = now + std::chrono::seconds(run.timeLimitSeconds) + settings_.overhead;
  run.expires = std::min(now + settings_.lease, *run.deadline);
  run.devices.clear();
  if (index::wantsDevice(run.kind)) run.devices = devicesFor(run.target, run.emulated, devices);
  KILN_TRY(connection.execute(
      "UPDATE runs SET state = 1, attempts = $3, epoch = $4, worker = $5, operator = $6, expires = $7, "
      "devices = $8, worker_key = $9, deadline = $10, time_limit = $11 WHERE instance = $1 AND id = $2",
      {run.instance, run.id, run.attempts, run.epoch, run.worker, run.operatorName, run.expires, run.devices,
       index::hashParam(claim.worker.key), run.deadline, run.timeLimitSeconds}));
  KILN_TRY(
      connection.execute("INSERT INTO attempts (instance, run_id, epoch, worker, operator, leased) VALUES "
                         "($1, $2, $3, $4, $5, $6)",
                         {run.instance, run.id, run.epoch, run.worker, run.operatorName, now}));
  return std::optional<RunRecord>(std::move(run));
}

Result<bool> LeaseQueue::isEmpty(Connection& connection) const {
  KILN_ASSIGN(const Rows rows, connection.execute("SELECT FROM runs WHERE state = 0 LIMIT 1"));
  return rows.empty();
}

Result<bool> LeaseQueue::extend(Connection& connection, const LeaseKey& key, const std::string& stage) const {
  KILN_ASSIGN(Rows rows, connection.execute(
                             std::string("UPDATE runs SET expires = least($7, deadline), stage = $8 WHERE ") +
                                 kMine + " AND id = $5 AND epoch = $6 AND state = 1",
                             mine(key.worker, {key.id, key.epoch, clock_.now() + settings_.lease, stage})));
  return rows.affected() > 0;
}

Result<bool> LeaseQueue::keepForResult(Connection& connection, const LeaseKey& key) const {
  KILN_ASSIGN(Rows rows,
              connection.execute(std::string("UPDATE runs SET expires = least($7, deadline + "
                                             "make_interval(secs => $8::double precision)) WHERE ") +
                                     kMine + " AND id = $5 AND epoch = $6 AND state = 1",
                                 mine(key.worker, {key.id, key.epoch, clock_.now() + settings_.lease,
                                                   seconds(settings_.lease)})));
  return rows.affected() > 0;
}

Result<std::optional<RunRecord>> LeaseQueue::find(Connection& connection, const LeaseKey& key) const {
  return findMine(connection, key, index::RunState::kLeased, false);
}

Result<std::optional<RunRecord>> LeaseQueue::findCancelled(Connection& connection,
                                                           const LeaseKey& key) const {
  KILN_ASSIGN(auto run, findMine(connection, key, index::RunState::kCancelled, false));
  if (run && (!run->deadline || *run->deadline <= clock_.now())) run.reset();
  return run;
}

Result<bool> LeaseQueue::isFirstOfCancelled(Connection& connection, const RunRecord& run,
                                            const Digest& receipt) const {
  KILN_ASSIGN(Rows rows, connection.execute(
                             "UPDATE attempts SET receipt_hash = $4 WHERE instance = $1 AND run_id = $2 AND "
                             "epoch = $3 AND (receipt_hash IS NULL OR receipt_hash = $4)",
                             {run.instance, run.id, run.epoch, index::hashParam(receipt)}));
  return rows.affected() > 0;
}

Result<TimePoint> LeaseQueue::leasedAt(Connection& connection, const RunRecord& run) const {
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT leased FROM attempts WHERE instance = $1 AND run_id = $2 AND epoch = $3",
                             {run.instance, run.id, run.epoch}));
  KILN_ASSIGN(auto leased, rows.first([](const Row& row) { return row.get<TimePoint>("leased"); }));
  if (!leased) return fail(Code::kInternal, "a lease without its attempt");
  return *leased;
}

Result<std::vector<RunRecord>> LeaseQueue::leasedTo(Connection& connection, const Identity& worker) const {
  KILN_ASSIGN(Rows rows, connection.execute(std::string("SELECT * FROM runs WHERE ") + kMine +
                                                " AND state = 1 ORDER BY queued, id",
                                            mine(worker, {})));
  return rows.map(index::runAt);
}

Result<bool> LeaseQueue::complete(Connection& connection, const LeaseKey& key,
                                  const index::ResultRecord& result) const {
  KILN_ASSIGN(auto run, lockCurrent(connection, key));
  if (!run) return false;
  KILN_TRY(connection.execute("UPDATE runs SET state = 2, expires = NULL WHERE instance = $1 AND id = $2",
                              {run->instance, run->id}));
  KILN_TRY(connection.execute(kEnded, {run->instance, run->id, run->epoch, clock_.now(), "done", "", 0}));
  KILN_TRY(index::insertResult(connection, result));
  KILN_TRY(connection.execute(
      "UPDATE runs SET not_before = $4 WHERE (instance, id) IN (SELECT r.instance, r.id FROM runs r JOIN "
      "jobs j "
      "ON j.instance = r.instance AND j.id = r.job_id WHERE r.instance = $1 AND r.action_hash = $2 AND "
      "r.state "
      "= 0 AND r.job_id <> $3 AND j.reuse FOR UPDATE OF r SKIP LOCKED)",
      {run->instance, index::hashParam(run->action), run->jobId, clock_.now() + kLookFirst}));
  if (result.exitCode == 0)
    KILN_TRY(index::recordDuration(connection, *run, seconds(result.recorded - result.leased)));
  KILN_ASSIGN(const auto outcomes, outcomesOf(connection, *run, result.exitCode == 0));
  for (const auto& [who, outcome] : outcomes)
    KILN_TRY(recordOutcome(connection, who.first, who.second, outcome, clock_.now()));
  return true;
}

Result<std::vector<index::JobKey>> LeaseQueue::jobsWaitingFor(Connection& connection,
                                                              const RunRecord& run) const {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT DISTINCT job_id FROM runs WHERE instance = $1 AND "
                                            "action_hash = $2 AND state = 0 AND job_id <> $3",
                                            {run.instance, index::hashParam(run.action), run.jobId}));
  return rows.map(
      [&](const Row& row) { return index::JobKey{run.instance, row.get<std::string>("job_id")}; });
}

RetryPolicy LeaseQueue::retryPolicy(bool fleetKnown) const {
  return {settings_.attempts, clock_.now() - (fleetKnown ? liveFor(settings_) : kKnownFor)};
}

Result<bool> LeaseQueue::reject(Connection& connection, const LeaseKey& key, const Error& error,
                                bool retryable, bool fleetKnown) const {
  KILN_ASSIGN(auto run, lockCurrent(connection, key));
  if (!run) return false;
  TimePoint now = clock_.now();
  const BadEnd end{error, retryable ? "failed" : "final", now, run->operatorName + "/" + run->worker,
                   now + settings_.lease};
  KILN_TRY(giveUp(connection, *run, end, retryPolicy(fleetKnown)));
  if (isBadEnd(*run, error, retryable, now + settings_.overhead))
    KILN_TRY(recordOutcome(connection, run->operatorName, run->worker, LeaseOutcome::kBad, now));
  return true;
}

Result<std::vector<index::JobKey>> LeaseQueue::expire(Connection& connection, bool fleetKnown) const {
  TimePoint now = clock_.now();
  KILN_TRY(forgetOtherClocks(connection, settings_, now));
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT * FROM runs WHERE state = 1 AND expires < $1 ORDER BY expires "
                                 "LIMIT 100 FOR UPDATE SKIP LOCKED",
                                 {now}));
  KILN_ASSIGN(auto runs, rows.map(index::runAt));
  std::vector<index::JobKey> jobs;
  for (const RunRecord& run : runs) {
    const bool overran = run.deadline && *run.deadline <= now;
    const BadEnd end = overran ? BadEnd{overrun(run), "final", now, "", now}
                               : BadEnd{silence(run, settings_.lease), "lost", now, "", now};
    KILN_TRY(giveUp(connection, run, end, retryPolicy(fleetKnown)));
    KILN_TRY(recordOutcome(connection, run.operatorName, run.worker, LeaseOutcome::kBad, now));
    jobs.push_back({run.instance, run.jobId});
  }
  return jobs;
}

Result<std::vector<index::JobKey>> LeaseQueue::failAbandoned(Connection& connection, bool fleetKnown,
                                                             const std::optional<index::JobKey>& job) const {
  KILN_ASSIGN(const auto runs, lockAbandoned(connection, retryPolicy(fleetKnown), job));
  std::vector<index::JobKey> jobs;
  for (const RunRecord& run : runs) {
    KILN_TRY(connection.execute(
        "UPDATE runs SET state = 3, worker = $3, operator = $4, error_code = $5, error_message = $6 WHERE "
        "instance = $1 AND id = $2",
        {run.instance, run.id, run.worker, run.operatorName, run.errorCode, run.errorMessage}));
    jobs.push_back({run.instance, run.jobId});
  }
  return jobs;
}

Status LeaseQueue::startAnew(Connection& connection, TimePoint before) const {
  const TimePoint now = clock_.now();
  KILN_TRY(connection.execute(
      "UPDATE runs SET expires = $1, deadline = $2::timestamptz + make_interval(secs => time_limit + "
      "$3::double precision) WHERE state = 1",
      {now + settings_.lease, now, seconds(settings_.overhead)}));
  const Duration live = liveFor(settings_);
  KILN_TRY(connection.execute("UPDATE fleet SET last_contact = $1 WHERE last_contact BETWEEN $2 AND $3",
                              {now, before - live, before + live}));
  return {};
}

Status LeaseQueue::extendAll(Connection& connection) const {
  KILN_TRY(connection.execute(
      "UPDATE runs SET expires = $1, deadline = CASE WHEN deadline < $1 THEN $1 ELSE deadline END "
      "WHERE state = 1 AND expires < $1",
      {clock_.now() + settings_.lease}));
  return {};
}

}  // namespace kiln::queue
