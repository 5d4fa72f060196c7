// Squares of numbers in registers. Private to compiler_core/schedule.
#pragma once

#include "mlir/IR/Builders.h"

namespace kiln::schedule {

// As many vectors as each has lanes, a power of two: their rows and columns exchanged.
llvm::SmallVector<mlir::Value> transposed(mlir::OpBuilder& builder, mlir::Location loc,
                                          llvm::SmallVector<mlir::Value> square);

}  // namespace kiln::schedule
