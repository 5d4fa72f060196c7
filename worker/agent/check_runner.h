// CheckRunner: runs a check on the devices that the lease names. They are this action's alone, tried out
// before, and drained when they fail.
#pragma once

#include "worker/agent/runner.h"
#include "worker/devices/registry.h"
#include "worker/executor/executor.h"

namespace kiln::agent {

// Thread safe for distinct slots.
class CheckRunner {
 public:
  // All must outlive it. `onDevices` runs checks on real GPUs: its sandbox shows their device nodes.
  CheckRunner(devices::Registry& registry, executor::Executor& checker, executor::Executor& onDevices)
      : registry_(registry), checker_(checker), onDevices_(onDevices) {}

  // As Runner::run. kUnavailable, so that it is tried elsewhere, if the device failed rather than the check:
  // before it, in the middle (kiln-check ends with exit 7), or as its health check after any other failure
  // shows. An action that runs into its time limit keeps that error, and drains its GPU too.
  Result<Outcome> run(const v1::Lease& lease, executor::ActionRequest request);

 private:
  Status judge(const devices::HeldGpu& gpu, const Result<reapi::ActionResult>& result);

  devices::Registry& registry_;
  executor::Executor& checker_;
  executor::Executor& onDevices_;
};

}  // namespace kiln::agent
