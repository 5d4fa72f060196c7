// Arguments of @main that are weights: kiln.weight = slot, kiln.source = entry of the weight table, and how
// the program wants the entry laid out: kiln.permutation of its dimensions first, then kiln.winograd, then
// kiln.panels (../package/weights.h WeightUse). Private to the compiler core.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kiln::schedule {

// The argument that `value` is, if that is a weight; null otherwise.
mlir::BlockArgument weightArgument(mlir::Value value);

// The argument that has `weight`, a buffer whose last dimension are columns, in panels of so many columns:
// [panel][row][lane]. Its dimensions are permuted first where that is asked for. Made at the first call, with
// the slot of `weight`.
mlir::Value inPanels(mlir::BlockArgument weight, std::int64_t lanes,
                     llvm::ArrayRef<std::int64_t> permutation = {});

// The argument that has `weight`, a buffer [K, C, 3, 3], transformed into the domain of Winograd's F(m x m, 3
// x 3), in panels of so many of the K: [panel][point][C][lane]. Made at the first call. K is a multiple of
// `lanes`.
mlir::Value inWinogradDomain(mlir::BlockArgument weight, std::int64_t m, std::int64_t lanes);

// Erases the weights that turned out to be wanted in another layout alone, with what was made of them in
// vain, and numbers the slots anew.
void dropUnusedWeights(mlir::func::FuncOp function);

}  // namespace kiln::schedule
