// Drives jobs forward: asks the state machine for the next step, carries it out, asks again. Everything is
// taken from the database, so that starting is resuming; sweeps find jobs that nobody mentioned and leases
// that ran out.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "coordinator/drivers/checker.h"
#include "coordinator/drivers/publisher.h"
#include "coordinator/farm/leasing.h"
#include "coordinator/farm/observers.h"
#include "coordinator/planning/planning.h"
#include "coordinator/tuning/tuner.h"
#include "manifest/base/mutex.h"

namespace kiln::service {

struct DriverOptions {
  int threads = 2;
  std::chrono::milliseconds sweepEvery{1000};
  // Open jobs that a sweep looks at. News wakes a job at once; sweeps are for what nobody mentioned.
  std::size_t sweptAtOnce = 200;
  // Its time is from anywhere, and nobody sets it: what tells the farm's clock being set from time that went
  // by. Null: the farm's clock is never set.
  const Clock* steady = nullptr;
};

// Thread safe.
class JobDriver {
 public:
  JobDriver(const Planning& planning, const Leasing& leasing, const Observers& observers,
            DriverOptions options = {});
  ~JobDriver();

  void start();
  // Lets running steps end, then joins. Idempotent.
  void stop();

  // The job may have a next step; returns at once.
  void wake(const index::JobKey& key) KILN_EXCLUDES(mutex_);

  // Carries out the job's steps until it waits or has ended. kUnavailable and the like: later again.
  Status advance(const index::JobKey& key);

  // Queues expired leases again, fails runs that nobody can take any more, and advances open jobs: the next
  // ones of all, in turns. After a time in which the database was away, and no other coordinator was there
  // either, leases first get a full term; after the clock was set, all of their time.
  Status sweep() KILN_EXCLUDES(mutex_);

 private:
  void work();
  void sweepForEver();
  void lookAtClocks();
  TimePoint elapsedNow() const;  // for lengths of time alone
  Status logHeldBack(postgres::Connection& connection);
  Status sweepJobs(postgres::Connection& connection);
  Status carryOut(const index::JobSnapshot& snapshot, const DeliverySpec& delivery, const jobs::Step& step);

  const Planning& planning_;
  const Leasing& leasing_;
  const Observers& observers_;
  const DriverOptions options_;
  Publisher publisher_;
  Checker checker_;
  Tuner tuner_;
  Mutex mutex_;
  Condition changed_;
  std::deque<index::JobKey> waiting_ KILN_GUARDED_BY(mutex_);
  std::set<index::JobKey> known_ KILN_GUARDED_BY(mutex_);  // in waiting_
  std::set<index::JobKey> busy_ KILN_GUARDED_BY(mutex_);   // one thread per job
  bool stopping_ KILN_GUARDED_BY(mutex_) = false;
  bool interrupted_ = true;  // of the sweeping thread alone: leases are to be extended first
  std::optional<std::pair<TimePoint, TimePoint>>
      sweptAt_;  // likewise: by the farm's clock, by the steady one
  std::optional<TimePoint>
      setFrom_;  // likewise: the farm's clock was set from then; leases are to begin anew
  // Of the sweeping thread alone: how far through the open jobs this turn has come, and how many they were.
  std::optional<index::JobKey> sweptUpTo_;
  std::size_t swept_ = 0;
  std::map<std::string, TimePoint>
      heldBack_;                // of the sweeping thread alone: "operator/name" that was logged
  TimePoint fleetKnownFrom_{};  // of the sweeping thread alone: every live worker has called by then
  std::vector<std::thread> threads_;
};

}  // namespace kiln::service
