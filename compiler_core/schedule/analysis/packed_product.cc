#include "compiler_core/schedule/analysis/packed_product.h"

#include "compiler_core/ir/attributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kiln::schedule {

using namespace mlir;

bool isPackedProduct(linalg::LinalgOp op) {
  if (op.getNumLoops() != 4 || op.getNumReductionLoops() != 2 || op.getNumDpsInputs() < 3 ||
      op.getNumDpsInits() != 1 || ir::PartialsAttr::isOn(op))
    return false;
  auto d = [&](unsigned i) { return getAffineDimExpr(i, op.getContext()); };
  auto map = [&](ArrayRef<AffineExpr> dims) { return AffineMap::get(4, 0, dims, op.getContext()); };
  OpOperand *codes = op.getDpsInputOperand(0), *scales = op.getDpsInputOperand(1);
  return op.getMatchingIndexingMap(op.getDpsInitOperand(0)) == map({d(0), d(1)}) &&
         op.getMatchingIndexingMap(codes) == map({d(2), d(3), d(1)}) &&
         op.getMatchingIndexingMap(scales) == map({d(2), d(1)}) &&
         getElementTypeOrSelf(codes->get().getType()).isInteger(8) &&
         getElementTypeOrSelf(scales->get().getType()).isF32() &&
         isa_and_nonnull<arith::AddFOp>(op.getBlock()->getTerminator()->getOperand(0).getDefiningOp());
}

}  // namespace kiln::schedule
