// StableHLO as text, in its own syntax and in MLIR's generic one.
#pragma once

#include <string>
#include <string_view>

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

// Reads one module with MLIR's parser. `name` is what errors call the text: "model.mlir:12:7: expected ...".
// No MLIR in this header. kInvalidArgument for what is wrong, kUnimplemented for what is not served. Thread
// safe.
Result<Program> readText(std::string_view text, const std::string& name);

}  // namespace kiln::stablehlo
