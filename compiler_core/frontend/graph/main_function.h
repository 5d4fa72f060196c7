// @main of a captured program: the names of its arguments and results, and how it ends.
#pragma once

#include "compiler_core/frontend/graph/graph_builder.h"
#include "compiler_core/ir/evidence.h"

namespace kiln::frontend {

// Gives the arguments of `main` the names of `inputs`, one for each, in their order.
void nameArguments(mlir::func::FuncOp main, llvm::ArrayRef<ir::Signature> inputs);

// Ends the body of `main`, where `builder` stands, with `results`, whose names are those of `outputs`.
void returnResults(mlir::OpBuilder& builder, mlir::func::FuncOp main, const Values& results,
                   llvm::ArrayRef<ir::Signature> outputs);

}  // namespace kiln::frontend
