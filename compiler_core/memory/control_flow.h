// Loops and branches on buffers.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace kiln::memory {

// Before bufferising: says which values are computed in place.
void prepareControlFlow(mlir::ModuleOp module);

// After bufferising, loops hand on the same buffers from iteration to iteration and branches give one buffer
// either way: uses see that buffer itself, and no loop or branch has one as argument or result. Fails with an
// error on the operation where that does not hold.
mlir::LogicalResult resolveControlFlow(mlir::ModuleOp module);

}  // namespace kiln::memory
