// StableHLO -> the kiln dialect.
#pragma once

#include "compiler_core/frontend/graph/captured.h"
#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

// Imports the program's entry function with its pinned inputs fixed. Inputs are called as the program's
// arguments, "arg0"... where these have no names; outputs "result0"... or as jax.result_info has them.
// kInvalidArgument: the program is wrong; names the function and operation. kFailedPrecondition: a pin does
// not fit. kUnimplemented: with `details` listing every operation that is not served, found before anything
// is made. Does not keep references to `program` beyond what the weights own.
Result<frontend::Captured> importProgram(mlir::MLIRContext& context, const Program& program,
                                         const frontend::ImportOptions& options);

}  // namespace kiln::stablehlo
