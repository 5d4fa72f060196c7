#include "compiler_core/schedule/strategies/winograd/roles.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/contraction_roles.h"
#include "compiler_core/schedule/analysis/packed_dot.h"
#include "compiler_core/schedule/analysis/weight_arguments.h"
#include "compiler_core/schedule/strategies/channel_lanes/channel_lanes.h"
#include "compiler_core/schedule/strategies/winograd/tile_writer.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace kiln::schedule {

using namespace mlir;

std::int64_t mayTakeWinograd(linalg::LinalgOp product, const VectorShape& registers) {
  if (mayTakeChannelLanes(product, registers) == 0 || product.getNumLoops() != 7) return 0;
  auto weight = weightArgument(product.getDpsInputs()[1]);
  const ArrayRef<std::int64_t> shape = cast<RankedTensorType>(weight.getType()).getShape();
  const SmallVector<std::int64_t> extents = product.getStaticLoopRanges();
  MLIRContext* context = product->getContext();
  const auto dim = [&](unsigned i) { return getAffineDimExpr(i, context); };
  const AffineMap window = AffineMap::get(7, 0, {dim(0), dim(4), dim(2) + dim(5), dim(3) + dim(6)}, context);
  if (product.getMatchingIndexingMap(product.getDpsInputOperand(0)) != window || shape.size() != 4 ||
      shape[2] != kWinogradWindow || shape[3] != kWinogradWindow || shape[1] != extents[4] ||
      !getElementTypeOrSelf(product.getDpsInputs()[0].getType()).isF32() || ir::DotAttr::isOn(product))
    return 0;
  return shape[1] % (registers.bits / kFloatBits) == 0 ? shape[1] : 0;
}

std::optional<WinogradRoles> findWinogradRoles(const FusedProduct& product, const LoopNest& nest,
                                               const VectorShape& registers) {
  linalg::LinalgOp op = product.op;
  const auto contraction = findContraction(op);
  if (!contraction || contraction->left.loops.size() != 1 || contraction->right.loops.size() < 2 ||
      contraction->reductions.size() != 3)
    return std::nullopt;
  WinogradRoles found;
  found.window = contraction->right.operand->getOperandNumber();
  found.weight = contraction->left.operand->getOperandNumber();
  found.result = op.getDpsInitOperand(0)->getOperandNumber();
  found.channels = contraction->left.loops.front();
  found.steps = contraction->reductions.front();
  found.outer = contraction->batch;
  llvm::append_range(found.outer, ArrayRef(contraction->right.loops).drop_back(2));
  found.rows = contraction->right.loops[contraction->right.loops.size() - 2];
  found.columns = contraction->right.loops.back();
  for (OpOperand& operand : op->getOpOperands())
    if (!getElementTypeOrSelf(operand.get().getType()).isF32()) return std::nullopt;

  const auto& loops = nest.loops;
  const unsigned down = contraction->reductions[1], across = contraction->reductions[2];
  if (loops[down].extent != kWinogradWindow || loops[across].extent != kWinogradWindow ||
      loops[found.rows].strides[found.window] != loops[down].strides[found.window] ||
      loops[found.columns].strides[found.window] != 1 || loops[across].strides[found.window] != 1 ||
      loops[found.columns].strides[found.result] != 1)
    return std::nullopt;
  // What the sums begin with is the same for all positions.
  linalg::LinalgOp init = product.init;
  for (std::size_t i = 0; i < init->getNumOperands(); ++i) {
    const std::size_t operand = op->getNumOperands() + i;
    if (i != init.getDpsInitOperand(0)->getOperandNumber() &&
        (loops[found.rows].strides[operand] != 0 || loops[found.columns].strides[operand] != 0))
      return std::nullopt;
  }

  Value root = contraction->left.operand->get();
  while (auto view = root.getDefiningOp<ViewLikeOpInterface>()) root = view.getViewSource();
  found.argument = weightArgument(root);
  auto whole = found.argument ? dyn_cast<MemRefType>(root.getType()) : MemRefType();
  const std::int64_t steps = loops[found.steps].extent;
  if (!whole || !whole.hasStaticShape() || !whole.getLayout().isIdentity() || whole.getRank() != 4 ||
      whole.getDimSize(1) != steps || whole.getDimSize(2) != kWinogradWindow ||
      whole.getDimSize(3) != kWinogradWindow || steps % (registers.bits / kFloatBits) != 0 ||
      loops[found.channels].strides[found.weight] != steps * kWindowElements ||
      loops[found.steps].strides[found.weight] != kWindowElements ||
      loops[down].strides[found.weight] != kWinogradWindow || loops[across].strides[found.weight] != 1)
    return std::nullopt;
  found.lanes = channelPanel(whole.getDimSize(0), registers);
  if (found.lanes == 0 || loops[found.channels].extent % found.lanes != 0) return std::nullopt;
  llvm::sort(found.outer);
  return found;
}

}  // namespace kiln::schedule
