// LeaseRunner: hands compile and reference leases to the executor, fetch leases to the fetcher, check leases
// to an executor of their own.
#pragma once

#include "worker/agent/runner.h"
#include "worker/executor/executor.h"
#include "worker/executor/fetcher.h"

namespace kiln::agent {

class LeaseRunner final : public Runner {
 public:
  // All must outlive the runner; `fetcher` and `checker` are null on a worker that does not fetch or check.
  LeaseRunner(executor::Executor& executor, executor::Fetcher* fetcher, executor::Executor* checker = nullptr)
      : executor_(executor), fetcher_(fetcher), checker_(checker) {}

  Result<Outcome> run(const v1::Lease& lease, int slot, const sandbox::Cancel& cancel,
                      const std::function<void(const std::string&)>& onStage) override;
  std::vector<std::string> warmToolchains() const override { return executor_.warmToolchains(); }

 private:
  executor::Executor& executor_;
  executor::Fetcher* const fetcher_;
  executor::Executor* const checker_;
};

}  // namespace kiln::agent
