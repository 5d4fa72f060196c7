// The ways to run a case of StableHLO's. Each may take any amount of time and memory and may crash: see
// isolate.h.
#pragma once

#include "tests/conformance/run_case.h"
#include "tests/conformance/stablehlo/corpus.h"

namespace kiln::conformance {

// Reads and imports the module, evaluates it in the reference evaluator as imported and again after the
// rewrite stage, and compares with what its checks expect. Skipped is what Kiln says it does not serve.
CaseResult evaluateStablehlo(const StablehloCase& one);

}  // namespace kiln::conformance
