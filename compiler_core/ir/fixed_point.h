// Patterns applied until none fits any more.
#pragma once

#include "mlir/IR/PatternMatch.h"
#include "mlir/Support/LLVM.h"

namespace kiln::ir {

// MLIR's greedy driver gives up after ten rounds, without a word; a long chain of operations needs more. Here
// as many rounds may be needed as there are operations inside of `root`. After more the patterns undo each
// other: an error at `root` says so.
llvm::LogicalResult applyToFixedPoint(mlir::Operation* root, mlir::RewritePatternSet patterns);

}  // namespace kiln::ir
