// LeaseRunner: hands compile, reference and emulate leases to the executor, fetch leases to the fetcher,
// check leases to the check runner.
#pragma once

#include "worker/agent/check_runner.h"
#include "worker/agent/runner.h"
#include "worker/executor/executor.h"
#include "worker/executor/fetcher.h"

namespace kiln::agent {

class LeaseRunner final : public Runner {
 public:
  // All must outlive the runner; `fetcher` and `checker` are null on a worker that does not fetch or check.
  LeaseRunner(executor::Executor& executor, executor::Fetcher* fetcher, CheckRunner* checker,
              const devices::Registry& registry)
      : executor_(executor), fetcher_(fetcher), checker_(checker), registry_(registry) {}

  Result<Outcome> run(const v1::Lease& lease, int slot, const sandbox::Cancel& cancel,
                      const std::function<void(const std::string&)>& onStage) override;
  std::vector<std::string> warmToolchains() const override { return executor_.warmToolchains(); }
  std::vector<v1::Device> devices() const override { return registry_.devices(); }
  std::string missingGpus() const override { return registry_.missing(); }

 private:
  executor::Executor& executor_;
  executor::Fetcher* const fetcher_;
  CheckRunner* const checker_;
  const devices::Registry& registry_;
};

}  // namespace kiln::agent
