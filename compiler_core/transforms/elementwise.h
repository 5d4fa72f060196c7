// Rebuilding elementwise operations around what a pass moves through them.
#pragma once

#include "compiler_core/ir/ir.h"
#include "mlir/IR/PatternMatch.h"

namespace kiln::transforms {

// One element of the result comes from the elements at the same place of the operands, whatever the shape.
inline bool isElementwise(mlir::Operation* op) {
  return llvm::isa<ir::UnaryOp, ir::BinaryOp, ir::CompareOp, ir::SelectOp, ir::CastOp, ir::BitcastOp>(op);
}

// `op` once more, over other operands, with a result of another shape.
inline mlir::Value elementwiseOver(mlir::Operation* op, mlir::ValueRange operands, mlir::Type type,
                                   mlir::PatternRewriter& rewriter) {
  mlir::OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(type);
  state.propertiesAttr = op->getPropertiesAsAttribute();
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  return rewriter.create(state)->getResult(0);
}

}  // namespace kiln::transforms
