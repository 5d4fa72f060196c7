// Takes a worker's report that a lease is finished. The worker is never believed: the receipt must be its own
// and about this lease, every output is rehashed from the CAS, and a compile's manifest is computed again
// from what the coordinator asked for.
#pragma once

#include "coordinator/farm/leasing.h"
#include "coordinator/farm/observers.h"
#include "coordinator/farm/signatory.h"
#include "coordinator/farm/stores.h"
#include "kiln/v1/worker.pb.h"
#include "signing/keys/certificate.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// Thread safe.
class Completion {
 public:
  Completion(const Stores& stores, const Signatory& signatory, const Leasing& leasing,
             const Observers& observers)
      : stores_(stores), signatory_(signatory), leasing_(leasing), observers_(observers) {}

  // Settles the lease: a good result is stored, a failure or a refused report ends the attempt. The jobs
  // concerned, for the driver: the run's own, and those that wait for the same action; none if the lease is
  // stale (of a cancelled tune, what it measured by then is kept). An error means that nothing was settled:
  // the worker reports again.
  Result<std::vector<index::JobKey>> settle(const queue::LeaseKey& key, const v1::Finished& report,
                                            const signing::Certificate& worker);

 private:
  Status keepMeasured(const index::RunRecord& run, const v1::Finished& report,
                      const signing::Certificate& worker);
  Result<index::ResultRecord> check(const index::RunRecord& run, const v1::Finished& report,
                                    const signing::Certificate& worker);

  const Stores& stores_;
  const Signatory& signatory_;
  const Leasing& leasing_;
  const Observers& observers_;
};

}  // namespace kiln::service
