#include "compiler_core/schedule/analysis/extents.h"

#include <limits>

#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/profile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace kiln::schedule {

using namespace mlir;

namespace {

using Evaluate = llvm::function_ref<std::optional<std::int64_t>(const ir::Dim&)>;

SmallVector<std::int64_t> extentsOf(linalg::LinalgOp op, Evaluate evaluate, std::int64_t unknown) {
  SmallVector<std::int64_t> extents = op.getStaticLoopRanges();
  auto map = ir::ExtentsAttr::get(op);
  for (auto [i, extent] : llvm::enumerate(extents)) {
    if (!ShapedType::isDynamic(extent)) continue;
    std::optional<std::int64_t> value;
    if (map && i < map.getValue().getNumResults())
      value = evaluate(ir::Dim(map.getValue().getResult(static_cast<unsigned>(i))));
    extent = std::max<std::int64_t>(1, value.value_or(unknown));
  }
  return extents;
}

// Size `dim` of `value` from the operation that made it; null when only tensor.dim can tell.
OpFoldResult sizeOf(Value value, std::int64_t dim) {
  for (;;) {
    auto type = cast<RankedTensorType>(value.getType());
    if (!type.isDynamicDim(static_cast<unsigned>(dim)))
      return Builder(value.getContext()).getIndexAttr(type.getDimSize(static_cast<unsigned>(dim)));
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForallOp>(argument.getOwner()->getParentOp());
      if (!loop) return {};
      value = loop.getTiedOpOperand(argument)->get();
      continue;
    }
    Operation* op = value.getDefiningOp();
    if (auto empty = dyn_cast<tensor::EmptyOp>(op)) return empty.getMixedSizes()[dim];
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      return slice.getDroppedDims().any() ? OpFoldResult() : slice.getMixedSizes()[dim];
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) return expand.getMixedOutputShape()[dim];
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
      value = insert.getDest();
    } else if (auto loop = dyn_cast<scf::ForallOp>(op)) {
      value = loop.getOutputs()[cast<OpResult>(value).getResultNumber()];
    } else if (auto style = dyn_cast<DestinationStyleOpInterface>(op)) {
      value = style.getTiedOpOperand(cast<OpResult>(value))->get();
    } else {
      return {};
    }
  }
}

}  // namespace

SmallVector<std::int64_t> estimatedExtents(linalg::LinalgOp op) {
  const auto profile = ir::profileOf(op->getParentOfType<func::FuncOp>());
  return extentsOf(op, [&](const ir::Dim& dim) { return ir::optOf(dim, profile); }, kUnknownExtent);
}

SmallVector<std::int64_t> largestExtents(linalg::LinalgOp op) {
  const auto limits = ir::limitsOf(op->getParentOfType<func::FuncOp>());
  return extentsOf(
      op,
      [&](const ir::Dim& dim) -> std::optional<std::int64_t> {
        auto range = ir::rangeOf(dim, limits);
        return range ? std::optional(range->max) : std::nullopt;
      },
      std::numeric_limits<std::int32_t>::max());
}

std::optional<std::int64_t> staticPositions(linalg::LinalgOp op, ArrayRef<unsigned> loops) {
  const SmallVector<std::int64_t> extents = op.getStaticLoopRanges();
  std::int64_t positions = 1;
  for (unsigned loop : loops)
    if (ShapedType::isDynamic(extents[loop]) || __builtin_mul_overflow(positions, extents[loop], &positions))
      return std::nullopt;
  return positions;
}

void resolveSizes(Operation* loop, RewriterBase& rewriter) {
  SmallVector<tensor::DimOp> dims;
  loop->walk([&](tensor::DimOp dim) { dims.push_back(dim); });
  for (Operation* op = loop->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto dim = dyn_cast<tensor::DimOp>(op))
      dims.push_back(dim);
    else if (!isa<affine::AffineApplyOp, affine::AffineMinOp, arith::ConstantOp, tensor::ExtractSliceOp>(op))
      break;
  }
  for (tensor::DimOp dim : dims) {
    const auto index = dim.getConstantIndex();
    const OpFoldResult size = index ? sizeOf(dim.getSource(), *index) : OpFoldResult();
    if (!size) continue;
    rewriter.setInsertionPoint(dim);
    rewriter.replaceOp(dim, getValueOrCreateConstantIndexOp(rewriter, dim.getLoc(), size));
  }
}

}  // namespace kiln::schedule
