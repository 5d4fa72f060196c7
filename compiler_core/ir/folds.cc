// Folds that need no arithmetic: operations that do nothing. Constants are evaluated by
// transforms/fold_constants with the reference evaluator, so that a fold can never differ from the oracle.
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"

namespace kiln::ir {

using mlir::OpFoldResult;

OpFoldResult ConstantOp::fold(FoldAdaptor) {
  return getValue();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : mlir::Value();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : mlir::Value();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType()) return getInput();
  // reshape(reshape(x)) is one reshape of x.
  if (auto inner = getInput().getDefiningOp<ReshapeOp>()) {
    setOperand(inner.getInput());
    return getResult();
  }
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  for (auto [index, dim] : llvm::enumerate(getPermutation()))
    if (static_cast<std::int64_t>(index) != dim) return {};
  return getInput();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? getInputs().front() : mlir::Value();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  if (getInput().getType() != getType() || getSymbolicOffsets()) return {};
  for (auto [extent, stride] : llvm::zip(tensorType(getType()).getShape(), getStrides()))
    if (extent != 1 && stride != 1) return {};
  return getInput();
}

}  // namespace kiln::ir
