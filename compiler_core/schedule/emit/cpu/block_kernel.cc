#include "compiler_core/schedule/emit/cpu/block_kernel.h"

#include "compiler_core/schedule/analysis/body.h"
#include "compiler_core/schedule/analysis/extents.h"
#include "compiler_core/schedule/emit/cpu/block_address.h"
#include "compiler_core/schedule/emit/cpu/non_temporal.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kiln::schedule {

using namespace mlir;

namespace {

// The extent of each loop: a number, or the size of a dimension that it runs over.
SmallVector<OpFoldResult> readSizes(OpBuilder& b, linalg::LinalgOp op) {
  SmallVector<OpFoldResult> sizes;
  const SmallVector<std::int64_t> fixed = op.getStaticLoopRanges();
  for (const std::int64_t extent : fixed) sizes.push_back(b.getIndexAttr(extent));
  for (OpOperand& operand : op->getOpOperands())
    for (auto [i, expression] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expression);
      if (!loop || !ShapedType::isDynamic(fixed[loop.getPosition()])) continue;
      OpFoldResult& size = sizes[loop.getPosition()];
      if (!isa<Value>(size))
        size = b.createOrFold<memref::DimOp>(op.getLoc(), operand.get(), static_cast<std::int64_t>(i));
    }
  return sizes;
}

}  // namespace

bool BlockKernel::isRowTimesMatrix() const {
  return !roles.rows && !roles.reductions.empty() && roles.lanes &&
         llvm::all_of(linalg::LinalgOp(op).getDpsInputOperands(), [&](OpOperand* input) {
           return roles.operands[input->getOperandNumber()] != Lane::kStrided;
         });
}

const WeightPanels* BlockKernel::panelsOf(const OpOperand& operand) const {
  const auto* found =
      llvm::find_if(weights, [&](const WeightPanels& weight) { return weight.factor == &operand; });
  return found == weights.end() ? nullptr : found;
}

BlockKernel prepareKernel(OpBuilder& b, const FusedProduct& product, const Roles& roles,
                          const BlockOptions& options) {
  linalg::LinalgOp op = product.op;
  BlockKernel kernel{product, op, op.getLoc(), roles, options};
  kernel.likely = estimatedExtents(op);
  kernel.masks = options.shape.masks && llvm::all_of(product.parts(), isSafeOnPaddingLanes);
  kernel.nonTemporal = wantsNonTemporalStores(op, options.shape);
  for (linalg::LinalgOp part : product.parts()) {
    const auto own = part == op ? std::optional(roles) : findRoles(part, options.shape);
    for (OpOperand& operand : part->getOpOperands())
      kernel.lanes[&operand] = own->operands[operand.getOperandNumber()];
  }
  kernel.sizes = readSizes(b, op);
  for (linalg::LinalgOp part : product.parts())
    for (OpOperand& operand : part->getOpOperands())
      if (const auto view = flatten(b, kernel, operand)) kernel.flat[&operand] = *view;
  if (options.pack) kernel.weights = findWeightPanels(b, op, options.schedule, options.shape);
  return kernel;
}

LoopPosition LoopPosition::with(unsigned loop, OpFoldResult iv) const {
  LoopPosition there = *this;
  there.ivs[loop] = iv;
  return there;
}

LoopPosition beginningOf(OpBuilder& b, const BlockKernel& kernel) {
  LoopPosition at;
  at.ivs.assign(kernel.sizes.size(), OpFoldResult(b.getIndexAttr(0)));
  at.reductionFrom.assign(kernel.roles.reductions.size(), b.getIndexAttr(0));
  for (unsigned dim : kernel.roles.reductions) at.reductionSize.push_back(kernel.sizes[dim]);
  return at;
}

std::optional<std::int64_t> fixedExtent(OpFoldResult extent) {
  return getConstantIntValue(extent);
}

bool mayReach(OpFoldResult extent, std::int64_t least) {
  return fixedExtent(extent).value_or(least) >= least;
}

}  // namespace kiln::schedule
