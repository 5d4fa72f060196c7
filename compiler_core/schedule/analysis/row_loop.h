// Private to compiler_core/schedule.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace kiln::schedule {

// The rows of a tile of a reduction kernel, one after the other through all of the kernel's operations: a row
// is in L1 from the first pass over it to the last, and the next one is read while the last one is on its way
// to memory. `loop` is a kernel on tensors that has its schedule; any other one stays as it is.
mlir::LogicalResult loopOverRows(mlir::scf::ForallOp loop, mlir::RewriterBase& rewriter);

}  // namespace kiln::schedule
