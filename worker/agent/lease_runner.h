// LeaseRunner: hands compile, plan, reference and emulate leases to the executor, fetch leases to the
// fetcher, check and tune leases to their device runners.
#pragma once

#include "worker/agent/device_runner.h"
#include "worker/agent/runner.h"
#include "worker/executor/executor.h"
#include "worker/executor/fetcher.h"

namespace kiln::agent {

class LeaseRunner final : public Runner {
 public:
  using SandboxEnded = std::function<void(v1::ActionKind, Duration)>;

  // All must outlive the runner; `fetcher` and `checker` are null on a worker that does not fetch or check.
  // `sandboxEnded` is told how long each sandbox ran, on the thread of its action.
  LeaseRunner(executor::Executor& executor, executor::Fetcher* fetcher, DeviceRunner* checker,
              DeviceRunner& tuner, const devices::Registry& registry, SandboxEnded sandboxEnded = {})
      : executor_(executor),
        fetcher_(fetcher),
        checker_(checker),
        tuner_(tuner),
        registry_(registry),
        sandboxEnded_(std::move(sandboxEnded)) {}

  Result<Outcome> run(const v1::Lease& lease, int slot, const sandbox::Cancel& cancel,
                      const std::function<void(const std::string&)>& onStage) override;
  std::vector<std::string> warmToolchains() const override { return executor_.warmToolchains(); }
  std::vector<v1::Device> devices() const override { return registry_.devices(); }
  std::string missingGpus() const override { return registry_.missing(); }

 private:
  executor::Executor& executor_;
  executor::Fetcher* const fetcher_;
  DeviceRunner* const checker_;
  DeviceRunner& tuner_;
  const devices::Registry& registry_;
  const SandboxEnded sandboxEnded_;
};

}  // namespace kiln::agent
