// The ways to run a case of StableHLO's. Each may take any amount of time and memory and may crash: see
// isolate.h.
#pragma once

#include "tests/conformance/run_case.h"
#include "tests/conformance/stablehlo/corpus.h"

namespace kiln::conformance {

struct StablehloResult {
  CaseResult result;
  std::vector<std::string> operations;  // of the module, by their full names; none where it cannot be read
};

// Reads and imports the module, evaluates it in the reference evaluator as imported and again after the
// rewrite stage, and compares with what its checks expect. Skipped is what Kiln says it does not serve.
StablehloResult evaluateStablehlo(const StablehloCase& one);

// Compiles the module with kiln-cc, its inputs as arguments, runs it on two threads and compares. Cases of
// interpret/, which have no inputs, are skipped.
StablehloResult compileStablehlo(const StablehloCase& one, const CompileOptions& options);

}  // namespace kiln::conformance
