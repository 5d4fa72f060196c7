// A sum fused with the elementwise operations that make its elements. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/analysis/roles.h"
#include "llvm/ADT/DenseSet.h"

namespace kiln::schedule {

// A sum in the order of partial_sums.h and the elementwise operations right before it that lead to its
// elements: one pass over a row makes an element, stores it where somebody else reads it, and adds it.
struct FusedReduction {
  mlir::linalg::LinalgOp sum;
  llvm::SmallVector<mlir::linalg::LinalgOp> parts;  // in the order of the program
  llvm::SmallVector<bool> kept;                     // per part: its results are read elsewhere
};

// `op` has kiln.partials; nothing of `taken` becomes a part.
FusedReduction findFusedReduction(mlir::linalg::LinalgOp op, const VectorShape& shape,
                                  const llvm::DenseSet<mlir::Operation*>& taken);

}  // namespace kiln::schedule
