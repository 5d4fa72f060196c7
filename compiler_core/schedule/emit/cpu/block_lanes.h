// How the lanes of a kernel are cut: into runs of blocks as wide as each other, and a block into registers.
// Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/block_kernel.h"

namespace kiln::schedule {

// Part of a block's lanes that fits one register.
struct Piece {
  std::int64_t offset, lanes;  // lanes 0: one scalar
  std::int64_t width;          // lanes of its vectors; those behind `lanes` count for nothing
  mlir::Value mask = {};       // of the lanes that count, where only a run knows how many

  bool isPartial() const { return lanes != width || mask; }
};
// The registers of a block of so many lanes. `mask`: of the lanes that count, where a run tells that.
llvm::SmallVector<Piece> piecesOf(const BlockKernel& kernel, std::int64_t lanes, mlir::Value mask);

// Blocks of as many lanes each, side by side.
struct LaneRun {
  mlir::OpFoldResult from, to;
  std::int64_t lanes;
  bool remainder = false;  // of lanes that are known at run time only
  bool masked = false;     // the last block may reach beyond `to`
};
// Blocks of at most `registers` that cover the lanes up to `extent`. A known number of lanes is distributed
// evenly; what an unknown one leaves is covered by single registers under a mask, or by ever smaller blocks.
llvm::SmallVector<LaneRun> laneRuns(mlir::OpBuilder& builder, const BlockKernel& kernel,
                                    mlir::OpFoldResult extent, std::int64_t registers);

// Which block of the run begins at `lane`.
mlir::OpFoldResult numberIn(mlir::OpBuilder& builder, mlir::Location loc, const LaneRun& run,
                            mlir::OpFoldResult lane);

// The mask of the lanes of a register at `iv` that lie before `extent`.
mlir::Value maskBefore(mlir::OpBuilder& builder, const BlockKernel& kernel, mlir::OpFoldResult extent,
                       mlir::OpFoldResult iv);

}  // namespace kiln::schedule
