// Copies of factors as packed dot operands (../../analysis/packed_dot.h). Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/knobs/schedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

// Writes what kiln.words marks as copies of whole registers, at the builder's place, and erases it.
// False, with nothing done, for other operations and those whose codes do not lie side by side.
bool emitDotPacking(mlir::RewriterBase& rewriter, mlir::linalg::LinalgOp op, const VectorShape& shape);

}  // namespace kiln::schedule
