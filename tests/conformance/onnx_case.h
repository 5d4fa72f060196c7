// One case of the ONNX backend suite: <case>/model.onnx and <case>/test_data_set_0/{input,output}_N.pb.
#pragma once

#include <string>
#include <vector>

namespace kiln::conformance {

enum class Outcome { kPassed, kFailed, kSkipped };

struct CaseResult {
  std::string name;
  Outcome outcome = Outcome::kFailed;
  std::string reason;  // "" when passed
};

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;  // the suite's own, unless the case has a data.json
};

// Imports the model, evaluates it in the reference evaluator as imported and again after the rewrite stage,
// and compares both with the expected outputs. Skipped: what Kiln says it does not serve (kUnimplemented),
// with that reason.
CaseResult runCase(const std::string& name, const std::string& directory, Tolerance tolerance);

}  // namespace kiln::conformance
