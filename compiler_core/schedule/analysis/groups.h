// Which linalg operations belong together. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/ir/attributes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

// The group of a linalg operation; -1 for anything else.
inline std::int64_t groupOf(mlir::Operation* op) {
  if (!op) return -1;
  auto group = ir::GroupAttr::get(op);
  return group ? group.getInt() : -1;
}

inline bool isPointwise(mlir::linalg::LinalgOp op) {
  return op.getNumReductionLoops() == 0;
}

// Only moves elements: the body is its yield.
inline bool isMove(mlir::linalg::LinalgOp op) {
  return isPointwise(op) && op.getBlock()->without_terminator().empty();
}

// A matrix product or convolution: a reduction over the product of two operands.
bool isContraction(mlir::linalg::LinalgOp op);

}  // namespace kiln::schedule
