// What carries out a lease. The seam between the agent's loop and the executor.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "kiln/v1/worker.pb.h"
#include "manifest/base/result.h"
#include "worker/sandbox/cancel.h"

namespace kiln::agent {

// Thread safe for distinct slots.
class Runner {
 public:
  virtual ~Runner() = default;
  // Blocks until the action has ended. The tool's failure is a result; an error says that there is none.
  virtual Result<build::bazel::remote::execution::v2::ActionResult> run(
      const v1::Lease& lease, int slot, const sandbox::Cancel& cancel,
      const std::function<void(const std::string&)>& onStage) = 0;
  // Toolchains ready to use, in hex.
  virtual std::vector<std::string> warmToolchains() const = 0;
};

}  // namespace kiln::agent
