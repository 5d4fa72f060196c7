// Loops around blocks. Private to compiler_core/schedule.
#pragma once

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"

namespace kiln::schedule {

// body(iv) for iv in [from, to) by step; a single iteration needs no loop.
void emitLoop(mlir::OpBuilder& builder, mlir::Location loc, mlir::OpFoldResult from, mlir::OpFoldResult to,
              std::int64_t step, llvm::function_ref<void(mlir::OpFoldResult)> body);

// body(iv, size) for [0, to): full steps, then the remainder. One known at compile time has a step of its own
// size; another is covered by the ever smaller steps of `remainder`, the last of which is 1.
void emitChunks(mlir::OpBuilder& builder, mlir::Location loc, mlir::OpFoldResult to, std::int64_t step,
                llvm::ArrayRef<std::int64_t> remainder,
                llvm::function_ref<void(mlir::OpFoldResult, std::int64_t)> body);

struct StepRange {
  mlir::OpFoldResult from, to;
  std::int64_t by;
};
// A loop that carries values; returns those of the last iteration.
using StepBody =
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, llvm::SmallVector<mlir::Value>)>;
llvm::SmallVector<mlir::Value> emitSteps(mlir::OpBuilder& builder, mlir::Location loc, StepRange range,
                                         mlir::ValueRange values, StepBody body);

// Where the blocks of `size` from `from` on end that fit before `to`.
mlir::OpFoldResult wholeBlocks(mlir::OpBuilder& builder, mlir::Location loc, mlir::OpFoldResult from,
                               mlir::OpFoldResult to, std::int64_t size);

}  // namespace kiln::schedule
