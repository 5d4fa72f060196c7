// LeaseRunner: hands compile, plan, reference and emulate leases to the executor, foreign actions to the one
// under their policy, fetch leases to the fetcher, check and tune leases to their device runners.
#pragma once

#include "worker/agent/device_runner.h"
#include "worker/agent/runner.h"
#include "worker/executor/executor.h"
#include "worker/executor/fetcher.h"

namespace kiln::agent {

// What runs foreign actions, and the name that the worker has in their results.
struct ForeignExecutor {
  executor::Executor* executor = nullptr;  // null: this worker takes none
  std::string worker;
};

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

  // To be called before the first run(). The executor must outlive the runner.
  void takeForeign(ForeignExecutor foreign) { foreign_ = std::move(foreign); }

  Result<Outcome> run(const v1::Lease& lease, int slot, const sandbox::Cancel& cancel,
                      const std::function<void(const std::string&)>& onStage) override;
  std::vector<std::string> warmToolchains() const override { return executor_.warmToolchains(); }
  std::vector<v1::Device> devices() const override { return registry_.devices(); }
  std::string missingGpus() const override { return registry_.missing(); }

 private:
  Result<Outcome> runForeign(const v1::Lease& lease, executor::ActionRequest request);

  executor::Executor& executor_;
  executor::Fetcher* const fetcher_;
  DeviceRunner* const checker_;
  DeviceRunner& tuner_;
  const devices::Registry& registry_;
  const SandboxEnded sandboxEnded_;
  ForeignExecutor foreign_;
};

}  // namespace kiln::agent
