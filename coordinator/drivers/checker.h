// Has published artifacts checked: builds a target's check action, and signs what a worker's check found.
// Both may be repeated: the same stored state makes the same bytes.
#pragma once

#include "coordinator/farm/farm.h"
#include "coordinator/jobs/next_step.h"

namespace kiln::service {

// Thread safe.
class Checker {
 public:
  explicit Checker(const Farm& farm) : farm_(farm) {}

  // Stores the action in the CAS and with the job.
  Status plan(const index::JobSnapshot& snapshot, const DeliverySpec& delivery, const jobs::PlanCheck& step);
  // Check statement -> signature -> bundle -> index, with the outcome at the job's target.
  Status publish(const index::JobSnapshot& snapshot, const DeliverySpec& delivery,
                 const jobs::PublishCheck& step);

 private:
  const Farm& farm_;
};

}  // namespace kiln::service
