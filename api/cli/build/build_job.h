// One model as a job of the farm: what `kiln build` does for the model of its command line and for each of a
// project.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/cli/base/context.h"
#include "api/cli/base/signer_options.h"
#include "api/client/client.h"
#include "manifest/spec/compile_spec.h"
#include "manifest/spec/delivery_spec.h"
#include "manifest/spec/profile_option.h"

namespace kiln::cli {

// The words of `kiln build`; what is not said has the value of its help.
struct BuildOptions {
  std::string model, toolchain;
  std::vector<std::string> data, parameters, targets, profiles, pins, sequences;
  std::string tune = "catalogue", budget, precision = Numerics().precision,
              reassociation = Numerics().reassociation;
  PartitionOptionTexts partition;
  std::uint64_t maxArtifactBytes = 0, maxPlannedBytes = 0;
  DeliverySpec delivery;
  std::string checkPlan, deadline;
  SignerOptions modelSigners;  // whose signature of the model counts; none: it is not looked at
  std::string modelSignature;
  std::uint32_t maxWorkerSeconds = 0;
  bool check = false, checkEmulated = false, detach = false;
  std::string traces;
};

struct BuiltJob {
  v1::SubmitJobRequest request;  // as it was submitted
  v1::Job job;                   // as it ended, or as it began with `detach`
  std::string grant;             // as of client::Submission
  // The id of the key, or the name that its certificate bears, where a signature was asked for.
  std::string modelSignedBy = {};
};

// Looks at a request once its inputs are known and sent, and before it is submitted; its error ends the
// build. `toolchain` is "sha256:<hex>" of the tree that the options name, "" for the farm's default.
using BeforeSubmit = std::function<Status(const v1::SubmitJobRequest&, const std::string& toolchain)>;

// Says on stderr which grant let the caller in, if one did: what a pipeline's log is searched for.
void noteGrant(const Context& context, const client::Submission& made);

// Sends what the farm lacks, submits, shows progress and waits. A job that failed is its error. What was
// built is what was asked for, and under the trust root of `context` where one is named.
Result<BuiltJob> buildModel(const Context& context, const BuildOptions& given,
                            const BeforeSubmit& before = {});

}  // namespace kiln::cli
