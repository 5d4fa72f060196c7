// Tuning: which kernels of a planned program are to be measured, what of a measurement is kept, and what a
// compile gets of it.
#pragma once

#include "coordinator/jobs/next_step.h"
#include "coordinator/planning/planning.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// Has the record that a tune left signed and keeps what it decides. The same record again changes
// nothing. kPermissionDenied, as of checkCounts(), where the record or what its worker did was recalled:
// nothing is signed or kept.
Status keepTuningRecord(const Judging& judging, const std::string& instance,
                        const index::ResultRecord& result);

// Thread safe.
class Tuner {
 public:
  explicit Tuner(const Planning& planning) : planning_(planning) {}

  // Stores the action that measures the kernels of which nothing is known, all of them for a job that wants
  // nothing from the cache; where there are none, plans the compile.
  Status plan(const index::JobSnapshot& snapshot, const DeliverySpec& delivery, const jobs::PlanTune& step);

  // Has the record of a search signed and keeps what it decides; stores the compile with tuning.json of what
  // is known of its kernels by then, without one where that is what the compile takes by itself.
  Status compile(const index::JobSnapshot& snapshot, const DeliverySpec& delivery,
                 const jobs::PlanCompile& step);

 private:
  const Planning& planning_;
};

}  // namespace kiln::service
