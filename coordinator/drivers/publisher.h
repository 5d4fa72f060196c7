// Publishes agreed outputs: OCI manifest -> provenance and compile statement -> signatures -> bundles -> the
// container image that holds them, with a statement of its own -> index. Every step may be repeated; the same
// stored state makes the same bytes, the signer answers a repeated statement with its first bundle, and the
// index takes the same publication once.
#pragma once

#include "coordinator/farm/observers.h"
#include "coordinator/jobs/next_step.h"
#include "coordinator/recall/judging.h"

namespace kiln::service {

// Thread safe.
class Publisher {
 public:
  Publisher(const Judging& judging, const Observers& observers) : judging_(judging), observers_(observers) {}

  // kDataLoss or kNotFound if the evidence's bytes are not what they were; kUnavailable and the like: try
  // again.
  Status publish(const index::JobSnapshot& snapshot, const jobs::Publish& step);

 private:
  const Judging& judging_;
  const Observers& observers_;
};

}  // namespace kiln::service
