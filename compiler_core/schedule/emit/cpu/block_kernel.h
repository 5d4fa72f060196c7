// What the block emitter knows of an operation: the operation itself, before anything is written, and where
// in its loops code is being written. Nothing here changes while blocks are written; what moves is copied.
// Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/analysis/roles.h"
#include "compiler_core/schedule/analysis/weight_panels.h"
#include "compiler_core/schedule/emit/cpu/block_options.h"
#include "compiler_core/schedule/emit/cpu/fused_product.h"

namespace kiln::schedule {

// An operand with every second element along the lanes, as elements in a row.
struct FlatView {
  mlir::Value view;
  mlir::AffineMap map;  // from the loops to one of its elements
};

struct BlockKernel {
  const FusedProduct& product;
  mlir::linalg::LinalgOp op;  // of the product
  mlir::Location loc;
  const Roles& roles;  // of `op`
  const BlockOptions& options;
  llvm::SmallVector<std::int64_t> likely{};        // the extent of every loop, or what it is expected to be
  llvm::SmallVector<mlir::OpFoldResult> sizes{};   // the extent of every loop
  llvm::DenseMap<mlir::OpOperand*, Lane> lanes{};  // of all parts
  llvm::SmallDenseMap<mlir::OpOperand*, FlatView> flat{};
  llvm::SmallVector<WeightPanels> weights{};  // operands that are read from panels of the artifact
  bool masks = false;                         // lanes that fill no register are under a mask
  bool nonTemporal = false;                   // the stores of results

  // Sums without rows, of something that lies along the lanes.
  bool isRowTimesMatrix() const;
  // Where `operand` is read from panels of the artifact; null where it is not.
  const WeightPanels* panelsOf(const mlir::OpOperand& operand) const;
};

// Emits at the builder's place what all blocks share: sizes, flat views, the weight's argument. The kernel
// refers to the other arguments, which outlive it.
BlockKernel prepareKernel(mlir::OpBuilder& builder, const FusedProduct& product, const Roles& roles,
                          const BlockOptions& options);

// A place in the loops of a kernel.
struct LoopPosition {
  llvm::SmallVector<mlir::OpFoldResult> ivs;            // the current index of every loop
  llvm::SmallVector<mlir::OpFoldResult> reductionFrom;  // per reduction loop: the current block of steps
  llvm::SmallVector<mlir::OpFoldResult> reductionSize;
  bool isFirst = true, isLast = true;  // of the blocks of the reduction

  LoopPosition with(unsigned loop, mlir::OpFoldResult iv) const;
};

// Where the loops begin, with all steps of the reductions in one block.
LoopPosition beginningOf(mlir::OpBuilder& builder, const BlockKernel& kernel);

// The number behind an extent that is known at compile time.
std::optional<std::int64_t> fixedExtent(mlir::OpFoldResult extent);
// Whether the extent may be as large as that.
bool mayReach(mlir::OpFoldResult extent, std::int64_t least);

}  // namespace kiln::schedule
