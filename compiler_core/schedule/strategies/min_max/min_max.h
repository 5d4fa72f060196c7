// Min/max reductions along what lies side by side in memory. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/analysis/roles.h"
#include "mlir/IR/PatternMatch.h"

namespace kiln::schedule {

// Writes a min/max reduction over one loop whose elements lie side by side as vectors along that loop, since
// their order makes no difference: several at a time, the last one overlapping or under a mask, then one
// number of them. Emits at `op` and erases it; false, and nothing, where `op` is anything else.
bool emitMinMax(mlir::RewriterBase& rewriter, mlir::linalg::LinalgOp op, const VectorShape& shape);

}  // namespace kiln::schedule
