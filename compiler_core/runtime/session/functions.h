// The functions of an open artifact's program, for profilers.
#pragma once

#include <vector>

#include "compiler_core/runtime/kiln_runtime.h"
#include "compiler_core/runtime/program/program.h"

namespace kiln::runtime {

// As Program::functions(); the code lives as long as the artifact. Thread safe.
Result<std::vector<Function>> functionsOf(const kiln_artifact& artifact);

}  // namespace kiln::runtime
