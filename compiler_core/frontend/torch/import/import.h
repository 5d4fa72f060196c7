// torch.export -> the kiln dialect.
#pragma once

#include "compiler_core/frontend/graph/captured.h"
#include "compiler_core/frontend/torch/program/program.h"

namespace kiln::torch {

// What a run is given, in order, as the outside calls it: users' inputs by their names in the graph, then the
// buffers that the program writes by theirs.
std::vector<std::string> namesOfInputs(const Program& program);

// Imports the program with its pinned inputs fixed and its parameters as weights. What it writes in place
// (buffers, users' inputs) is an input and, behind the users' outputs "result0"..., an output of that name.
// kInvalidArgument: the program is wrong; names the node. kFailedPrecondition: a pin or a profile does not
// fit. kUnimplemented: with `details` listing every node that is not served. Does not keep references to
// `program` beyond what the weights own.
Result<frontend::Captured> importProgram(mlir::MLIRContext& context, const Program& program,
                                         const frontend::ImportOptions& options);

}  // namespace kiln::torch
