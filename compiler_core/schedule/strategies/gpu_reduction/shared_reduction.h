// Reductions that several threads share. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/gpu/emit.h"

namespace kiln::schedule {

// Long reductions of few results in any order, or in that of partial sums: each is shared out to several
// threads, whose parts are combined in a fixed order. False where the order is another one or there is little
// to share: nothing is written.
bool emitSharedReduction(mlir::RewriterBase& rewriter, mlir::linalg::LinalgOp op, const BlockThread& thread,
                         const GpuOptions& options);

}  // namespace kiln::schedule
