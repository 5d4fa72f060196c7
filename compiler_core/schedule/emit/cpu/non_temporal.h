// Results that are stored without a place in the caches. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/knobs/schedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

// Whether `op` writes its result by non-temporal stores, which do not fetch the lines that they overwrite: a
// result of the program that `op` alone writes and nobody reads, of a size that the caches would not keep for
// whoever does later, by a task that waits for memory rather than for its arithmetic. Every whole register
// stored to it is aligned to its size, as such stores have to be.
bool wantsNonTemporalStores(mlir::linalg::LinalgOp op, const VectorShape& shape);

// At the end of the task around `op`: until then such stores are in no order with others.
void orderStores(mlir::OpBuilder& builder, mlir::Operation* op);

}  // namespace kiln::schedule
