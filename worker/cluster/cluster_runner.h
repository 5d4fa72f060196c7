// ClusterRunner: carries out compile leases in a Remote Execution cluster.
#pragma once

#include <memory>

#include "storage/blob/blob_store.h"
#include "worker/agent/runner.h"
#include "worker/cluster/execution.h"
#include "worker/cluster/options.h"
#include "worker/sandbox/policy.h"

namespace kiln::cluster {

// Thread safe. Everything that the cluster says is checked before it is passed on: see outputs.h and
// execution.h. What the farm gets has the form that the worker's own executor gives it.
class ClusterRunner final : public agent::Runner {
 public:
  // The farm's store and the clock, a steady one, must outlive it.
  ClusterRunner(storage::BlobStore& farm, std::shared_ptr<grpc::Channel> channel, ClusterOptions options,
                const Clock& clock);

  // The tool's failure is a result. Errors: kInvalidArgument for
  // an action that no cluster gets (inputs.h), kDataLoss for what the cluster says and cannot be,
  // kUnavailable for what it does not do, kDeadlineExceeded, kCancelled, and those of the farm's store. All
  // but the action's own faults are worth another worker.
  Result<agent::Outcome> run(const v1::Lease& lease, int slot, const sandbox::Cancel& cancel,
                             const std::function<void(const std::string&)>& onStage) override;
  std::vector<std::string> warmToolchains() const override { return {}; }
  std::vector<v1::Device> devices() const override { return {}; }
  std::string missingGpus() const override { return ""; }

 private:
  Result<reapi::ActionResult> execute(const v1::Lease& lease, const sandbox::Cancel& cancel,
                                      const std::function<void(const std::string&)>& onStage);

  storage::BlobStore& farm_;
  const ClusterOptions options_;
  const std::shared_ptr<grpc::Channel> channel_;
  Execution execution_;
  const sandbox::Limits limits_;  // the same as in the worker's own sandbox
};

}  // namespace kiln::cluster
