// Results that are not worth a place in the caches. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/schedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

// Whether what `op` writes goes to memory past the caches, so that the lines that it overwrites are not
// fetched first: a result of the program that `op` alone writes and nobody reads, of a size that the caches
// would not keep for whoever does later, by a task that waits for memory rather than for its arithmetic.
// Every whole register stored to it is aligned to its size, as such stores have to be.
bool goesPastCaches(mlir::linalg::LinalgOp op, const VectorShape& shape);

// At the end of the task around `op`: until then such stores are in no order with others.
void orderStores(mlir::OpBuilder& builder, mlir::Operation* op);

}  // namespace kiln::schedule
