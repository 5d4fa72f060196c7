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

// The operands [steps..., column] of a sum whose results lie along columns: a matrix, and where that is
// packed also what belongs to its blocks.
SmallVector<OpOperand*> rightFactors(linalg::LinalgOp product) {
  SmallVector<unsigned> steps;
  product.getReductionDims(steps);
  SmallVector<OpOperand*> found;
  const AffineMap out = product.getMatchingIndexingMap(product.getDpsInitOperand(0));
  if (steps.empty() || out.getNumResults() == 0 || !isa<AffineDimExpr>(out.getResults().back())) return found;
  for (OpOperand* input : product.getDpsInputOperands()) {
    const AffineMap map = product.getMatchingIndexingMap(input);
    if (map.getNumResults() < 2 || map.getResults().back() != out.getResults().back()) continue;
    if (llvm::all_of(map.getResults().drop_back(), [&](AffineExpr expression) {
          auto loop = dyn_cast<AffineDimExpr>(expression);
          return loop && llvm::is_contained(steps, loop.getPosition());
        }))
      found.push_back(input);
  }
  return found;
}

// Rows of what has columns last.
std::int64_t rowsOf(ShapedType type) {
  return type.getDimSize(type.getRank() - 1) == 0
             ? 0
             : type.getNumElements() / type.getDimSize(type.getRank() - 1);
}

// Whether panels of the operand's weight may be read in its place.
bool takesPanels(OpOperand& factor, std::int64_t lanes) {
  if (!weightArgument(factor.get())) return false;
  auto type = cast<RankedTensorType>(factor.get().getType());
  if (!type.hasStaticShape() || rowsOf(type) <= 1) return false;
  const std::int64_t columns = type.getDimSize(type.getRank() - 1),
                     padded = llvm::divideCeil(columns, lanes) * lanes;
  const std::int64_t bytes = type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
  return bytes > ir::kMaxConstantBytes && padded * 8 <= columns * 9;
}

// How many rows a step of each of the sum's loops moves; nullopt where that is not the same everywhere.
std::optional<SmallVector<std::int64_t>> rowSteps(linalg::LinalgOp product, OpOperand& factor,
                                                  std::int64_t columns) {
  SmallVector<unsigned> steps;
  product.getReductionDims(steps);
  SmallVector<std::int64_t> found;
  for (const unsigned loop : steps) {
    const auto stride = strideAlong(product.getMatchingIndexingMap(&factor), factor.get().getType(), loop);
    if (!stride || *stride % columns != 0) return std::nullopt;
    found.push_back(*stride / columns);
  }
  return found;
}

// The panels of one operand, where it is all steps of some columns of a weight, as they lie there.
std::optional<WeightPanels> panelsOf(OpBuilder& b, linalg::LinalgOp product, OpOperand& factor,
                                     const Schedule& schedule, const VectorShape& registers) {
  Value root = factor.get();
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
  auto whole = cast<MemRefType>(root.getType()), part = cast<MemRefType>(factor.get().getType());
  SmallVector<std::int64_t> strides;
  std::int64_t offset = 0;
  if (!part.hasStaticShape() || whole.getRank() < 2 || rowsOf(whole) <= 1 || rowsOf(part) != rowsOf(whole) ||
      failed(part.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return std::nullopt;
  const std::int64_t columns = whole.getDimSize(whole.getRank() - 1);
  auto steps = rowSteps(product, factor, columns);
  if (!steps) return std::nullopt;
  if (tile && llvm::any_of(ArrayRef(tile.getMixedOffsets()).drop_back(),
                           [](OpFoldResult at) { return getConstantIntValue(at) != 0; }))
    return std::nullopt;
  WeightPanels found{&factor, {}, b.getIndexAttr(0), lanesOf(product, registers), true, std::move(*steps)};
  found.panels = inPanels(weight, found.lanes);
  if (!tile || part.getDimSize(part.getRank() - 1) == columns) return found;
  // Not asked of the view itself: that would keep the weight as it is.
  found.first = tile.getMixedOffsets().back();
  found.isAligned = listOf(schedule, kTileKnob).back() % found.lanes == 0;
  return found;
}

}  // namespace

bool mayTakePanels(linalg::LinalgOp product, const VectorShape& registers) {
  const std::int64_t lanes = lanesOf(product, registers);
  return llvm::any_of(rightFactors(product), [&](OpOperand* factor) { return takesPanels(*factor, lanes); });
}

SmallVector<WeightPanels> findWeightPanels(OpBuilder& b, linalg::LinalgOp product, const Schedule& schedule,
                                           const VectorShape& registers) {
  SmallVector<WeightPanels> found;
  if (BlockKnobs::of(schedule).pack != kPackedWeight) return found;
  for (OpOperand* factor : rightFactors(product))
    if (auto panels = panelsOf(b, product, *factor, schedule, registers)) found.push_back(std::move(*panels));
  return found;
}

}  // namespace kiln::schedule
