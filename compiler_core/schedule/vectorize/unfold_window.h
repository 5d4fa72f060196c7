// Convolutions as matrix products. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/vectorize/loop_nest.h"

namespace kiln::schedule {

// Writes a contraction that reads one factor through a window as loops over copies of that factor, one row
// per step of the sum and a run of results along it, each followed by the plain product with the copy:
// returns these products' and copies' operations, in order, and erases `op`. Steps are taken in the order of
// the operation, a few hundred at a time. Empty where a window gains nothing: `op` stays.
llvm::SmallVector<mlir::linalg::LinalgOp> unfoldWindow(mlir::RewriterBase& rewriter,
                                                       mlir::linalg::LinalgOp op);

}  // namespace kiln::schedule
