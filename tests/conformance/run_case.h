// The two ways to run a case.
#pragma once

#include "tests/conformance/case_data.h"

namespace kiln::conformance {

// Imports the model, evaluates it in the reference evaluator as imported and again after the rewrite stage,
// and compares both with the expected outputs.
Status evaluateCase(const std::string& directory, Tolerance tolerance);

// Compiles the model for cpu:x86-64-v3 into `scratch` (an existing folder), loads the program and compares
// what it computes. `toolchainLib` holds kmath.bc and the builtins archive.
Status compileCase(const std::string& directory, const std::string& toolchainLib, const std::string& scratch,
                   Tolerance tolerance);

}  // namespace kiln::conformance
