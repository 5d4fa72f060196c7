// Has published artifacts checked: builds a target's check action, and signs what a worker's check found.
// Both may be repeated: the same stored state makes the same bytes.
#pragma once

#include "coordinator/jobs/next_step.h"
#include "coordinator/recall/judging.h"

namespace kiln::service {

// Thread safe.
class Checker {
 public:
  explicit Checker(const Judging& judging) : judging_(judging) {}

  // Stores the action in the CAS and with the job.
  Status plan(const index::JobSnapshot& snapshot, const DeliverySpec& delivery, const jobs::PlanCheck& step);
  // Check statement -> signature -> bundle -> index, with the outcome at the job's target.
  Status publish(const index::JobSnapshot& snapshot, const DeliverySpec& delivery,
                 const jobs::PublishCheck& step);

 private:
  const Judging& judging_;
};

}  // namespace kiln::service
