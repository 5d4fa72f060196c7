// The iterations of an scf.forall as numbered tasks. Private to compiler_core/codegen/lower.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::codegen {

// How often a loop with these bounds and its own constant steps runs along each of its dimensions.
llvm::SmallVector<mlir::OpFoldResult> countsOf(mlir::OpBuilder& b, mlir::scf::ForallOp loop,
                                               llvm::ArrayRef<mlir::OpFoldResult> from,
                                               llvm::ArrayRef<mlir::OpFoldResult> to);
// The iterations in all, a number or a value; made before the loop.
mlir::OpFoldResult tasksOf(mlir::OpBuilder& b, mlir::scf::ForallOp loop);
// Loop indices of `task`, the row-major number of an iteration.
llvm::SmallVector<mlir::Value> indicesOf(mlir::OpBuilder& b, mlir::Location loc, mlir::Value task,
                                         llvm::ArrayRef<mlir::OpFoldResult> counts,
                                         llvm::ArrayRef<mlir::OpFoldResult> from,
                                         llvm::ArrayRef<std::int64_t> steps);

}  // namespace kiln::codegen
