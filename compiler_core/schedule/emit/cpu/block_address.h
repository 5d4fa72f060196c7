// Address computation of blocks: the element of an operand at a place in the loops. Private to
// compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/block_kernel.h"

namespace kiln::schedule {

// The map from the loops to the operand's elements.
mlir::AffineMap indexingMap(mlir::OpOperand& operand);

mlir::OpFoldResult plus(mlir::OpBuilder& builder, mlir::Location loc, mlir::OpFoldResult value,
                        std::int64_t offset);

// A result of the block, counted from where the block begins.
struct BlockElement {
  std::int64_t row = 0, lane = 0;
};

// The indices of the operand's element for one result of the block that begins at `at`.
llvm::SmallVector<mlir::Value> indices(mlir::OpBuilder& builder, const BlockKernel& kernel,
                                       const LoopPosition& at, mlir::OpOperand& operand,
                                       BlockElement element);

// An operand with every second element along the lanes also as elements in a row; nothing of any other.
std::optional<FlatView> flatten(mlir::OpBuilder& builder, const BlockKernel& kernel,
                                mlir::OpOperand& operand);
// The element of such a view for one result of the block.
mlir::OpFoldResult flatIndex(mlir::OpBuilder& builder, const BlockKernel& kernel, const LoopPosition& at,
                             mlir::AffineMap map, BlockElement element);

}  // namespace kiln::schedule
