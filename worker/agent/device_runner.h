// DeviceRunner: runs checks or tunes on the devices that the lease names. They are this action's alone, tried
// out before, and drained when they fail.
#pragma once

#include <string>

#include "worker/agent/runner.h"
#include "worker/devices/registry.h"
#include "worker/executor/executor.h"

namespace kiln::agent {

// Thread safe for distinct slots.
class DeviceRunner {
 public:
  // All references must outlive it. `what` it runs: "check", "tune". `onGpus` runs them on GPUs: its
  // sandbox shows their device nodes. A processor behind a driver has none, and neither has an emulated GPU.
  // `measurer`: the worker's own program that measures on a GPU for a compiler, which is static and loads no
  // driver (kiln-measure); empty for what loads drivers itself.
  DeviceRunner(std::string what, devices::Registry& registry, executor::Executor& onProcessor,
               executor::Executor& onGpus, std::string measurer = "")
      : what_(std::move(what)),
        registry_(registry),
        onProcessor_(onProcessor),
        onGpus_(onGpus),
        measurer_(std::move(measurer)) {}

  // As Runner::run, with `request.addition` and what the device wants. `claim`: what else must not run on the
  // machine meanwhile. kUnavailable, so that it is tried elsewhere, if the device failed rather than the
  // action: before it, in the middle (exit 7, or an end by a signal), or as its health check afterwards
  // shows, whatever the action says. An action that runs into its time limit keeps that error, and drains its
  // GPU too.
  Result<Outcome> run(const v1::Lease& lease, executor::ActionRequest request, devices::Claim claim);

 private:
  Status judge(const devices::HeldGpu& gpu, const Result<reapi::ActionResult>& result);

  const std::string what_;
  devices::Registry& registry_;
  executor::Executor& onProcessor_;
  executor::Executor& onGpus_;
  const std::string measurer_;
};

}  // namespace kiln::agent
