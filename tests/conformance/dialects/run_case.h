// The ways to run a case. Each may take any amount of time and memory and may crash: see isolate.h.
#pragma once

#include "tests/conformance/dialects/case_file.h"
#include "tests/conformance/run_case.h"

namespace kiln::conformance {

// Reads the case's program as text and as bytecode, imports each, evaluates it in the reference evaluator as
// imported and again after the rewrite stage, and compares with what is expected. Skipped is what Kiln says
// it does not serve.
CaseResult evaluateDialects(const DialectsCase& one);

// Compiles the bytecode with kiln-cc, runs it on two threads and compares.
CaseResult compileDialects(const DialectsCase& one, const CompileOptions& options);

}  // namespace kiln::conformance
