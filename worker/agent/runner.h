// The interface of what carries out a lease: the seam between the agent's loop and the executor.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "kiln/v1/worker.pb.h"
#include "manifest/base/digest.h"
#include "manifest/base/result.h"
#include "worker/sandbox/cancel.h"

namespace kiln::agent {

struct Outcome {
  build::bazel::remote::execution::v2::ActionResult result;
  Digest sandboxPolicy;  // that it ran under; its document is in the store
};

// Thread safe for distinct slots.
class Runner {
 public:
  virtual ~Runner() = default;
  // Blocks until the action has ended. The tool's failure is a result; an error says that there is none.
  virtual Result<Outcome> run(const v1::Lease& lease, int slot, const sandbox::Cancel& cancel,
                              const std::function<void(const std::string&)>& onStage) = 0;
  // Toolchains ready to use, in hex.
  virtual std::vector<std::string> warmToolchains() const = 0;
  // As they are now, to be advertised.
  virtual std::vector<v1::Device> devices() const = 0;
  // Why there is no GPU, or not all; "" where nothing is missing.
  virtual std::string missingGpus() const = 0;
};

}  // namespace kiln::agent
