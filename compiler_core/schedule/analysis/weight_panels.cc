#include "compiler_core/schedule/analysis/weight_panels.h"

#include "compiler_core/ir/ir.h"
#include "compiler_core/schedule/analysis/roles.h"
#include "compiler_core/schedule/analysis/weight_arguments.h"
#include "compiler_core/schedule/knobs/block_knobs.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace kiln::schedule {

using namespace mlir;

namespace {

// Columns of a panel: a block of rows has at least as many.
std::int64_t lanesOf(linalg::LinalgOp product, const VectorShape& registers) {
  std::int64_t bits = 32;
  for (Value operand : product->getOperands())
    bits = std::max<std::int64_t>(bits, getElementTypeOrSelf(operand.getType()).getIntOrFloatBitWidth());
  return registers.bits / bits * registers.across;
}

// The factor [step, column] of a sum along one loop whose results lie along columns.
OpOperand* rightFactor(linalg::LinalgOp product) {
  SmallVector<unsigned> steps;
  product.getReductionDims(steps);
  const AffineMap out = product.getMatchingIndexingMap(product.getDpsInitOperand(0));
  if (steps.size() != 1 || out.getNumResults() == 0) return nullptr;
  const AffineExpr step = getAffineDimExpr(steps[0], product.getContext()), column = out.getResults().back();
  for (OpOperand* input : product.getDpsInputOperands()) {
    const AffineMap map = product.getMatchingIndexingMap(input);
    if (isa<AffineDimExpr>(column) && map.getNumResults() == 2 && map.getResult(0) == step &&
        map.getResult(1) == column)
      return input;
  }
  return nullptr;
}

}  // namespace

bool mayTakePanels(linalg::LinalgOp product, const VectorShape& registers) {
  OpOperand* factor = rightFactor(product);
  if (!factor || !weightArgument(factor->get())) return false;
  auto type = cast<RankedTensorType>(factor->get().getType());
  const std::int64_t lanes = lanesOf(product, registers);
  if (!type.hasStaticShape() || type.getDimSize(0) == 1) return false;
  const std::int64_t columns = type.getDimSize(1), padded = llvm::divideCeil(columns, lanes) * lanes;
  const std::int64_t bytes = type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
  return bytes > ir::kMaxConstantBytes && padded * 8 <= columns * 9;
}

std::optional<WeightPanels> findWeightPanels(OpBuilder& b, linalg::LinalgOp product, const Schedule& schedule,
                                             const VectorShape& registers) {
  if (BlockKnobs::of(schedule).pack != kPackedWeight) return std::nullopt;
  OpOperand* factor = rightFactor(product);
  if (!factor) return std::nullopt;
  Value root = factor->get();
  memref::SubViewOp tile;
  while (auto view = root.getDefiningOp<ViewLikeOpInterface>()) {
    if (auto part = dyn_cast<memref::SubViewOp>(view.getOperation())) {
      if (tile) return std::nullopt;
      tile = part;
    }
    root = view.getViewSource();
  }
  const BlockArgument weight = weightArgument(root);
  if (!weight) return std::nullopt;
  // All steps of some columns of the matrix, as they lie there.
  auto whole = cast<MemRefType>(root.getType()), part = cast<MemRefType>(factor->get().getType());
  SmallVector<std::int64_t> strides;
  std::int64_t offset = 0;
  if (whole.getRank() != 2 || part.getDimSize(0) != whole.getDimSize(0) ||
      failed(part.getStridesAndOffset(strides, offset)) || strides[0] != whole.getDimSize(1) ||
      strides[1] != 1)
    return std::nullopt;
  if (tile &&
      (tile.getMixedOffsets().size() != 2 || getConstantIntValue(tile.getMixedOffsets().front()) != 0))
    return std::nullopt;
  WeightPanels found{factor, {}, b.getIndexAttr(0), lanesOf(product, registers), true};
  found.panels = inPanels(weight, found.lanes);
  if (!tile || part.getDimSize(1) == whole.getDimSize(1)) return found;
  // Not asked of the view itself: that would keep the weight as it is.
  found.first = tile.getMixedOffsets().back();
  found.isAligned = listOf(schedule, kTileKnob).back() % found.lanes == 0;
  return found;
}

}  // namespace kiln::schedule
