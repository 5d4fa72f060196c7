// A submitted request, checked without I/O: what can be refused before any store or database is asked.
#pragma once

#include <string>
#include <vector>

#include "kiln/v1/job.pb.h"
#include "manifest/spec/delivery_spec.h"
#include "storage/index/rows/records.h"

namespace kiln::jobs {

struct Submission {
  std::string instance, idempotencyKey;
  std::string modelName;                     // for display
  std::string toolchain;                     // label or digest as given; "" for the default
  std::vector<index::SourceRecord> sources;  // normalised; [0] is the model, external data sorted by path
  std::vector<std::string> targets;
  CompileSpec options;  // files, toolchain and target still empty
  DeliverySpec delivery;
  std::string optionsText, deliveryText;  // canonical JSON
  Digest request;                         // of the whole request
};

// kInvalidArgument names the field; kUnimplemented for a well-formed target that is not served, naming those
// that are.
Result<Submission> readSubmission(const v1::SubmitJobRequest& request);

// A git source as in a request: https or ssh, a full commit id, a safe path.
Result<index::GitSource> readGitSource(const v1::GitSource& source, bool claimed);

// The spec of one target, with the tuning that the record has. Every source must have its blob.
Result<CompileSpec> compileSpec(const CompileSpec& options, const std::vector<index::SourceRecord>& sources,
                                const Digest& toolchainDigest, const index::TargetRecord& target);

// Options and DeliverySpec from their stored text.
Result<CompileSpec> readOptions(const std::string& text);
Result<DeliverySpec> readDelivery(const std::string& text);

}  // namespace kiln::jobs
