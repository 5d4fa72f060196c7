// Sums along what lies side by side in memory. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/strategies/sums/fused_reduction.h"
#include "mlir/IR/PatternMatch.h"

namespace kiln::schedule {

// Writes a sum in the order of partial_sums.h: as vectors along the innermost dimension where every operand
// lies along it, or is invariant along it; else as vectors of results side by side, or element by element.
// Emits at the sum and erases it and its parts. contraction: acc + a * b becomes one fused operation.
void emitSum(mlir::RewriterBase& rewriter, const FusedReduction& row, const VectorShape& shape,
             bool contraction);

// Whether the vectors of such a sum lie along the innermost dimension.
bool sumsAlongRows(mlir::linalg::LinalgOp op, const VectorShape& shape);

}  // namespace kiln::schedule
