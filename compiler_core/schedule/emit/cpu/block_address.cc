#include "compiler_core/schedule/emit/cpu/block_address.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kiln::schedule {

using namespace mlir;

AffineMap indexingMap(OpOperand& operand) {
  return cast<linalg::LinalgOp>(operand.getOwner()).getMatchingIndexingMap(&operand);
}

OpFoldResult plus(OpBuilder& b, Location loc, OpFoldResult value, std::int64_t offset) {
  if (offset == 0) return value;
  AffineExpr d0 = b.getAffineDimExpr(0);
  return affine::makeComposedFoldedAffineApply(b, loc, d0 + offset, {value});
}

SmallVector<Value> indices(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at,
                           OpOperand& operand, BlockElement element) {
  SmallVector<OpFoldResult> ivs = at.ivs;
  const Roles& roles = kernel.roles;
  if (roles.rows) ivs[*roles.rows] = plus(b, kernel.loc, ivs[*roles.rows], element.row);
  if (roles.lanes) ivs[*roles.lanes] = plus(b, kernel.loc, ivs[*roles.lanes], element.lane);
  // The loops of an elementwise part are the first of the product's.
  AffineMap map = indexingMap(operand);
  SmallVector<Value> result;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    result.push_back(getValueOrCreateConstantIndexOp(
        b, kernel.loc,
        affine::makeComposedFoldedAffineApply(b, kernel.loc, map.getSubMap({i}),
                                              ArrayRef(ivs).take_front(map.getNumDims()))));
  return result;
}

std::optional<FlatView> flatten(OpBuilder& b, const BlockKernel& kernel, OpOperand& operand) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  const AffineMap map = indexingMap(operand);
  SmallVector<std::int64_t> strides;
  std::int64_t offset = 0;
  if (kernel.lanes.at(&operand) != Lane::kStrided || !type || !type.hasStaticShape() ||
      strideAlong(map, type, *kernel.roles.lanes) != 2 || failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  std::int64_t span = 1;
  AffineExpr at = b.getAffineConstantExpr(0);
  for (auto [expression, size, stride] : llvm::zip_equal(map.getResults(), type.getShape(), strides)) {
    if (ShapedType::isDynamic(stride)) return std::nullopt;
    span += (size - 1) * stride;
    at = at + expression * stride;
  }
  OpFoldResult from = b.getIndexAttr(0);
  if (offset != 0) {
    from = memref::ExtractStridedMetadataOp::create(b, kernel.loc, operand.get()).getOffset();
    offset = ShapedType::kDynamic;
  }
  const auto layout = StridedLayoutAttr::get(b.getContext(), offset, {1});
  Value view = memref::ReinterpretCastOp::create(
      b, kernel.loc, MemRefType::get({span}, type.getElementType(), layout), operand.get(), from,
      ArrayRef<OpFoldResult>{b.getIndexAttr(span)}, ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  return FlatView{view, AffineMap::get(map.getNumDims(), 0, at)};
}

OpFoldResult flatIndex(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at, AffineMap map,
                       BlockElement element) {
  SmallVector<OpFoldResult> ivs = at.ivs;
  const Roles& roles = kernel.roles;
  if (roles.rows) ivs[*roles.rows] = plus(b, kernel.loc, ivs[*roles.rows], element.row);
  ivs[*roles.lanes] = plus(b, kernel.loc, ivs[*roles.lanes], element.lane);
  return affine::makeComposedFoldedAffineApply(b, kernel.loc, map,
                                               ArrayRef(ivs).take_front(map.getNumDims()));
}

}  // namespace kiln::schedule
