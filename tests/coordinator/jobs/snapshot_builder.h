// Job snapshots for tests of the state machine.
#pragma once

#include <string>
#include <vector>

#include "coordinator/jobs/evidence.h"
#include "storage/index/rows/records.h"

namespace kiln::jobs::testing {

inline index::ActionRecord compileAction(const std::string& target = "cpu:x86-64-v3") {
  return {index::ActionKind::kCompile, target, digestOf("compile " + target), {}};
}
inline index::ActionRecord referenceAction() {
  return {index::ActionKind::kReference, "", digestOf(std::string_view("reference")), {}};
}

inline std::string resultBytes(const std::vector<std::pair<std::string, std::string>>& files,
                               int exitCode = 0, const std::string& standardError = "") {
  reapi::ActionResult result;
  for (const auto& [path, content] : files) {
    auto* file = result.add_output_files();
    file->set_path("output/" + path);
    *file->mutable_digest() = toProto(digestOf(content));
  }
  result.set_exit_code(exitCode);
  result.set_stderr_raw(standardError);
  return result.SerializeAsString();
}

inline index::ResultRecord result(const index::ActionRecord& action, const std::string& worker,
                                  const std::string& program = "program",
                                  const std::string& operatorName = "op") {
  index::ResultRecord record;
  record.action = action.action;
  record.runId = "run-" + worker;
  record.worker = worker;
  record.operatorName = operatorName;
  record.result = resultBytes({{"program.so", program}, {"weights/0000.bin", "w"}});
  record.outputs = outputsDigest(*readOutputs(record));
  return record;
}

inline index::RunRecord run(const index::ActionRecord& action, index::RunState state) {
  index::RunRecord record;
  record.action = action.action;
  record.kind = action.kind;
  record.state = state;
  return record;
}

// One uploaded model, one target, actions planned.
inline index::JobSnapshot plannedJob() {
  index::JobSnapshot snapshot;
  snapshot.job.key = {"default", "j1"};
  snapshot.sources.push_back({"model.onnx", digestOf(std::string_view("model")), {}, {}});
  snapshot.targets.push_back({"cpu:x86-64-v3", {}, false, {}});
  snapshot.actions = {referenceAction(), compileAction()};
  return snapshot;
}

}  // namespace kiln::jobs::testing
