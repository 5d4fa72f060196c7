// The body of a linalg operation, written for scalars or vectors. Private to compiler_core/schedule.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

// `value` as a vector of `lanes` (or itself for lanes == 0, scalar code).
mlir::Value splat(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value value, std::int64_t lanes);

// Clones the body with `arguments` in place of the block arguments (null for those that it does not use);
// returns the yielded values. lanes == 0: scalars, else every argument is a vector of that many lanes. fuse:
// x + a * b becomes fma(a, b, x) where the product has no other use. `positions`: the loops' indices, for
// bodies that read them (scalars only).
llvm::SmallVector<mlir::Value> emitBody(mlir::OpBuilder& builder, mlir::linalg::LinalgOp op,
                                        llvm::ArrayRef<mlir::Value> arguments, std::int64_t lanes, bool fuse,
                                        llvm::ArrayRef<mlir::Value> positions = {});

// Whether the body may be executed on padding lanes, which hold zeros or anything else: none of its
// operations traps, as a division of integers would.
bool isSafeOnPaddingLanes(mlir::linalg::LinalgOp op);

}  // namespace kiln::schedule
