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
  CompileSpec spec;  // files, toolchain and target still empty
  DeliverySpec delivery;
  std::string specText, deliveryText;  // canonical JSON
  Digest request;                      // of the whole request
};

// kInvalidArgument names the field; kUnimplemented for a well-formed target that is not served, naming those
// that are.
Result<Submission> readSubmission(const v1::SubmitJobRequest& request);

// A git source as in a request: https or ssh, a full commit id, a safe path.
Result<index::GitSource> readGitSource(const v1::GitSource& source, bool claimed);

// What was submitted as the spec of one target, with the tuning that the record has. Every source must have
// its blob.
Result<CompileSpec> compileSpec(const CompileSpec& submitted, const std::vector<index::SourceRecord>& sources,
                                const Digest& toolchainDigest, const index::TargetRecord& target);

// The submitted CompileSpec and the DeliverySpec from their stored text.
Result<CompileSpec> readSpec(const std::string& text);
Result<DeliverySpec> readDelivery(const std::string& text);

}  // namespace kiln::jobs
