// The queue of runs and their leases, in PostgreSQL: FOR UPDATE SKIP LOCKED to hand out, epochs to fence.
//
// A run is queued, leased, done, failed or cancelled. Leasing raises its epoch; only a report that carries
// the current epoch and comes from the worker that holds the lease, by operator and key, counts. An expired
// lease is queued again until the attempts are used up; who is asked again, and when that ends,
// retry_policy.h says. `fleetKnown` says whether every live worker has had the time to call: until then
// nothing fails for lack of another one while a worker is known that called within the last day. Every call
// runs on the caller's connection; the ones marked (T) need a transaction around them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/queue/device_choice.h"
#include "coordinator/queue/reputation.h"
#include "coordinator/queue/retry_policy.h"
#include "coordinator/quota/quota_rules.h"
#include "manifest/base/clock.h"
#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::queue {

struct Settings {
  Duration lease = std::chrono::seconds(30);
  int attempts = 3;
  // A run whose toolchain the worker has ready goes ahead of runs queued up to this much earlier.
  Duration warmAdvantage = std::chrono::seconds(5);
  // What a lease may take beside its time limit: to bring inputs in and results out.
  Duration overhead = std::chrono::minutes(2);
  // A new run is for live workers without any lease, where there is one that could take it, for this long.
  Duration idleFirst = std::chrono::seconds(2);
};

// Who holds a lease: a name alone is nobody, since two operators may each call a worker by it.
struct Identity {
  std::string name, operatorName;  // of its certificate
  Digest key;                      // of its certificate's public key, as SubjectPublicKeyInfo
  std::optional<std::vector<std::string>> instances = std::nullopt;  // whose work; nullopt: everybody's
};

// What a worker can take.
struct Claim {
  Identity worker;
  std::vector<std::string> targets;    // to compile for
  std::vector<ClaimedDevice> devices;  // healthy ones, for checks and tunes
  std::vector<index::ActionKind> kinds;
  std::vector<Digest> warmToolchains;
  std::shared_ptr<const quota::QuotaRules> quotas = nullptr;  // null: none
};

// What a report names, and who reports. Reports by anybody but the lease's holder, about another instance
// than its own ones, or of an earlier epoch are stale.
struct LeaseKey {
  std::string id;  // of the run
  std::uint64_t epoch = 0;
  Identity worker;
};

// Stateless beside its settings; thread safe.
class LeaseQueue {
 public:
  LeaseQueue(const Clock& clock, Settings settings) : clock_(clock), settings_(settings) {}

  // (T) Leases the next run: highest priority first, then the instance that runs the least for its weight,
  // then the one expected to take longest, to which an earlier time in the queue counts second for second.
  // Never two runs of one job's action to one worker, nor one whose evidence already counts; keeps the number
  // of distinct operators reachable. A check or tune gets devices that no other lease of the worker holds,
  // and holds them (RunRecord::devices); a tune gets a worker that does nothing else, and keeps it so. Equal
  // actions of one instance run once for all the jobs that wait for them. A lease's time limit ends with its
  // job's deadline at the latest, and none is given after it. A worker that has not proven itself
  // gets few, one whose leases ended badly what nobody else could take (reputation.h), one that has a lease
  // nothing new that an idle one could take. Nothing if there is none for this worker.
  Result<std::optional<index::RunRecord>> acquire(postgres::Connection& connection, const Claim& claim) const;
  // Whether nothing is queued for anybody: far cheaper to ask than to find that out by acquire().
  Result<bool> isEmpty(postgres::Connection& connection) const;

  // Extends the lease, not beyond its time limit and the overhead, and records the stage. False if the report
  // is stale.
  Result<bool> extend(postgres::Connection& connection, const LeaseKey& key, const std::string& stage) const;
  // Keeps the lease for the time that it takes to look at its result: for a lease time, at most one beyond
  // its end. False if it is stale.
  Result<bool> keepForResult(postgres::Connection& connection, const LeaseKey& key) const;

  // The leased run that `key` names; nothing if it is stale.
  Result<std::optional<index::RunRecord>> find(postgres::Connection& connection, const LeaseKey& key) const;
  // The run whose lease this was, if that ended because its job was cancelled and would not be over by now
  // whatever its worker says.
  Result<std::optional<index::RunRecord>> findCancelled(postgres::Connection& connection,
                                                        const LeaseKey& key) const;
  // Whether the report with this receipt is the first about such a lease, or that once more. No other counts
  // from then on.
  Result<bool> isFirstOfCancelled(postgres::Connection& connection, const index::RunRecord& run,
                                  const Digest& receipt) const;
  // When the lease was given.
  Result<TimePoint> leasedAt(postgres::Connection& connection, const index::RunRecord& run) const;
  // All leases of a worker in its instances.
  Result<std::vector<index::RunRecord>> leasedTo(postgres::Connection& connection,
                                                 const Identity& worker) const;

  // (T) Ends the lease with a result, which is stored with it, and counts how long a success took. False if
  // it is stale by now.
  Result<bool> complete(postgres::Connection& connection, const LeaseKey& key,
                        const index::ResultRecord& result) const;

  // The other jobs of the instance that have queued runs of this action: a result of it may be theirs as
  // well.
  Result<std::vector<index::JobKey>> jobsWaitingFor(postgres::Connection& connection,
                                                    const index::RunRecord& run) const;

  // (T) Ends the lease with a failure: queued again, for others first, for one lease time, or failed with
  // this reason. If not `retryable` the worker says that the run can never succeed: it is not asked again,
  // and another one is, if there is one; that counts against it once the other one succeeds, and never where
  // the action is a client's. False if it is stale by now.
  Result<bool> reject(postgres::Connection& connection, const LeaseKey& key, const Error& error,
                      bool retryable, bool fleetKnown = true) const;

  // (T) Queues expired leases again, or fails them. A worker that let its time limit pass is not asked again
  // for that action. What a clock has set that was ahead, and has been put back since, counts from now on.
  // Returns the jobs concerned.
  Result<std::vector<index::JobKey>> expire(postgres::Connection& connection, bool fleetKnown = true) const;

  // (T) Fails queued runs, of this job or of all, that wait for another worker than those who failed at their
  // action where there is none any more, with the last reason. Returns the jobs concerned.
  Result<std::vector<index::JobKey>> failAbandoned(postgres::Connection& connection, bool fleetKnown = true,
                                                   const std::optional<index::JobKey>& job = {}) const;

  // Gives every lease a full lease time from now, whatever its limit: after a time in which workers could not
  // report, because no coordinator or no database was there to listen.
  Status extendAll(postgres::Connection& connection) const;

  // (T) Gives every lease its whole time and limit from now, and has whoever was there `before` be there now:
  // after the clock was set, since when what it has set says nothing. Again it changes nothing.
  Status startAnew(postgres::Connection& connection, TimePoint before) const;

  const Settings& settings() const { return settings_; }

 private:
  RetryPolicy retryPolicy(bool fleetKnown) const;
  // Locks what the worker is to have next; `devices` are those of its own that are free.
  Result<std::optional<index::RunRecord>> choose(postgres::Connection& connection, const Claim& claim,
                                                 const std::vector<ClaimedDevice>& devices) const;

  const Clock& clock_;
  const Settings settings_;
};

}  // namespace kiln::queue
