// One block of results, held in registers while the reduction loops run. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/block_load.h"

namespace kiln::schedule {

struct RegisterBlock {
  std::int64_t rows = 1;
  llvm::ArrayRef<Piece> pieces;  // registers of each row
  const BlockSources& sources;
  std::optional<mlir::OpFoldResult> prefetchedLane = {};  // block_prefetch.h; while the block is written
};

// Begins the results (from memory or from what fills them), adds all steps of the current block of the
// reduction, works on them where that was the last one, and stores them.
void emitRegisterBlock(mlir::OpBuilder& builder, const BlockKernel& kernel, const LoopPosition& at,
                       RegisterBlock block);

}  // namespace kiln::schedule
