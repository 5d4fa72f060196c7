// The two ways to run a case. Each may take any amount of time and memory and may crash: see isolate.h.
#pragma once

#include "tests/conformance/program.h"

namespace kiln::conformance {

enum class Outcome { kPassed, kFailed, kSkipped, kNotComparable };

struct CaseResult {
  Outcome outcome = Outcome::kFailed;
  std::string reason;             // "" when passed
  std::vector<std::string> pins;  // inputs whose values were fixed to compile the case, by name
};

// Compiles, pinning what a refusal asks for; `pins` gets what was pinned.
Status compileOrPin(const std::string& model, const std::vector<NamedTensor>& inputs, const Given& given,
                    const CompileOptions& options, Pins& pins);

// Compiles the model with kiln-cc, loads the artifact in the runtime, runs it on two threads and compares.
// Refused for want of a value (pinsAskedFor), the case is compiled again with these inputs pinned.
// Skipped is what Kiln says it does not serve (kUnimplemented), with that reason.
CaseResult compileCase(const Case& one, const CompileOptions& options);

// Imports the model, evaluates it in the reference evaluator as imported and again after the rewrite stage,
// and compares both. Pins as above.
CaseResult evaluateCase(const Case& one);

// Not to be compared when random; else passed, skipped or failed as `status` says.
CaseResult toResult(const Status& status, bool random);

}  // namespace kiln::conformance
