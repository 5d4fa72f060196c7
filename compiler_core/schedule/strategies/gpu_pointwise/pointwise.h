// Operations whose results share nothing, on devices. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/gpu/emit.h"

namespace kiln::schedule {

// Writes any linalg operation at the insertion point, neighbouring threads at neighbouring elements, some
// results of a thread side by side where loads and stores then take 16 bytes. Reductions run inside a thread
// in the CPU's order. Does not erase `op`.
void emitPointwise(mlir::RewriterBase& rewriter, mlir::linalg::LinalgOp op, const BlockThread& thread,
                   const GpuOptions& options, const Share& share = {});

}  // namespace kiln::schedule
