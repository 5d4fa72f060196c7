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

// The argument of `shape` behind `weight` with these attributes, kiln.panels among them, for layouts that a
// strategy defines. Made at the first call.
mlir::Value laidOut(mlir::BlockArgument weight, const mlir::NamedAttrList& attributes,
                    llvm::ArrayRef<std::int64_t> shape);

// Erases the weights that turned out to be wanted in another layout alone, with what was made of them in
// vain, and numbers the slots anew.
void dropUnusedWeights(mlir::func::FuncOp function);

}  // namespace kiln::schedule
