// Operands that blocks read from panels: a copy in the slot's scratch, or a weight that lies so in the
// artifact. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/block_lanes.h"

namespace kiln::schedule {

// The operand whose panel (reduction block x lanes) is copied into scratch before the rows run over it: a
// matrix with rows so long that each step of the reduction would touch another page, read often enough to
// pay for the copy. Null: none.
mlir::OpOperand* findPackable(const BlockKernel& kernel, const LoopPosition& at);

// Copies of `packed`, one panel per block of lanes: for each run [block][step of the reduction][lane]. Blocks
// that are no more than a remainder are read where they are: their run has no panels.
llvm::SmallVector<mlir::Value> copyToPanels(mlir::OpBuilder& builder, const BlockKernel& kernel,
                                            const LoopPosition& at, mlir::OpOperand& packed,
                                            llvm::ArrayRef<LaneRun> runs);

// Indices of a panel.
llvm::SmallVector<mlir::Value> panelIndex(mlir::OpBuilder& builder, mlir::Location loc,
                                          mlir::OpFoldResult number, mlir::OpFoldResult step,
                                          std::int64_t lane);

// Where in the weights' panels the registers of a block of lanes are: by first lane, panel and lane in it.
using PanelPlaces = llvm::SmallDenseMap<std::int64_t, std::pair<mlir::Value, mlir::Value>>;
// Of the block of the run that begins at `lane`. The kernel has weights in panels.
PanelPlaces findPlaces(mlir::OpBuilder& builder, const BlockKernel& kernel, const LaneRun& run,
                       mlir::OpFoldResult lane);

}  // namespace kiln::schedule
