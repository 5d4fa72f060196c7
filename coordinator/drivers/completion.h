// Takes a worker's report that a lease is finished. The worker is never believed: the receipt must be its own
// and about this lease, every output is rehashed from the CAS, and a compile's manifest is computed again
// from what the coordinator asked for.
#pragma once

#include "coordinator/farm/leasing.h"
#include "coordinator/farm/observers.h"
#include "coordinator/recall/judging.h"
#include "kiln/v1/worker.pb.h"
#include "signing/keys/certificate.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// Thread safe.
class Completion {
 public:
  Completion(const Judging& judging, const Leasing& leasing, const Observers& observers)
      : judging_(judging), stores_(judging.stores), leasing_(leasing), observers_(observers) {}

  // Settles the lease: a good result is stored, a failure or a refused report ends the attempt. The jobs
  // concerned, for the driver: the run's own, and those that wait for the same action; none if the lease is
  // stale (of a cancelled tune, what its first report says that it measured by then is kept, until its lease
  // would be over). An error means that nothing was settled: the worker reports again.
  Result<std::vector<index::JobKey>> settle(const queue::LeaseKey& key, const v1::Finished& report,
                                            const signing::Certificate& worker);

 private:
  Status settleCancelled(const queue::LeaseKey& key, const v1::Finished& report,
                         const signing::Certificate& worker);
  Result<index::ResultRecord> check(const index::RunRecord& run, const v1::Finished& report,
                                    const signing::Certificate& worker);

  const Judging judging_;
  const Stores& stores_;
  const Leasing& leasing_;
  const Observers& observers_;
};

}  // namespace kiln::service
