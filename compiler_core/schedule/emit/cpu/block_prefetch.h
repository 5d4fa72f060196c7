// What blocks prefetch while they compute. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/block_lanes.h"

namespace kiln::schedule {

// A row times a matrix: prefetches what the step of loop `dim` reads some steps later. Steps of such a sum
// lie so far apart that no processor prefetches the next one by itself. Nothing for any other kernel.
void prefetchSteps(mlir::OpBuilder& builder, const BlockKernel& kernel, const LoopPosition& at, unsigned dim,
                   llvm::ArrayRef<Piece> pieces);

// The first lane of the register of each step that a block of `rows` prefetches of the next run of steps;
// each block of rows takes another one of its `registers`. Nothing where the kernel prefetches none.
std::optional<mlir::OpFoldResult> choosePrefetched(mlir::OpBuilder& builder, const BlockKernel& kernel,
                                                   const LoopPosition& at, std::int64_t rows,
                                                   std::int64_t registers);
// Prefetches that register for one step, `at` in the run before.
void prefetchNextBlock(mlir::OpBuilder& builder, const BlockKernel& kernel, const LoopPosition& at,
                       mlir::OpFoldResult lane);

}  // namespace kiln::schedule
