// Sums along what lies side by side in memory. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/vectorize/roles.h"
#include "mlir/IR/PatternMatch.h"

namespace kiln::schedule {

// Writes an operation with kPartialsAttr in the order of partial_sums.h: as vectors along the innermost
// dimension where every operand lies along it, or stands still; else as vectors of results side by side, or
// element by element. Emits at `op` and erases it. contraction: acc + a * b becomes one fused operation.
void emitSum(mlir::RewriterBase& rewriter, mlir::linalg::LinalgOp op, const VectorShape& shape,
             bool contraction);

}  // namespace kiln::schedule
