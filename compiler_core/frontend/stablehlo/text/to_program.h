// A module of MLIR, as the text's parser makes it, as a Program.
#pragma once

#include <memory>

#include "compiler_core/frontend/stablehlo/program/program.h"
#include "mlir/IR/BuiltinOps.h"

namespace kiln::stablehlo {

// `context` is the module's; literals of the Program keep it alive. `budget`: see program/read_budget.h.
// kInvalidArgument for what is wrong, with function and operation; kUnimplemented for what stands beside
// functions in the module, and for control flow between blocks.
Result<Program> toProgram(mlir::ModuleOp module, std::shared_ptr<mlir::MLIRContext> context,
                          std::size_t budget);

}  // namespace kiln::stablehlo
