// Products with matrices of few bits per element, as lower/packed.cc makes them: operands codes [block, byte,
// column] and scales [block, column], maybe zero points, and the row's steps that share a byte. Private to
// compiler_core/schedule.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

// Of an operation on tensors or buffers, before its loops are joined.
bool isPackedProduct(mlir::linalg::LinalgOp op);

}  // namespace kiln::schedule
