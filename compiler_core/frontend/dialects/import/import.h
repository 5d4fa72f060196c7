// TOSA and linalg -> the kiln dialect.
#pragma once

#include "compiler_core/frontend/dialects/read/read.h"
#include "compiler_core/frontend/graph/captured.h"

namespace kiln::dialects {

// Imports the program's entry function with its symbolic dimensions bound and its pinned inputs fixed. Inputs
// are called as locations call the arguments, else "arg0"...; outputs "result0"... A dimension that the
// program leaves open is called "<input>.<index>". kInvalidArgument: the program is wrong; names the function
// and operation. kFailedPrecondition: a pin or a profile does not fit. kUnimplemented: with `details` listing
// every operation that is not served, found before anything is made, or an unbound dimension. What the
// weights refer to is kept by them.
Result<frontend::Captured> importProgram(mlir::MLIRContext& context,
                                         const std::shared_ptr<const Program>& program,
                                         const frontend::ImportOptions& options);

}  // namespace kiln::dialects
