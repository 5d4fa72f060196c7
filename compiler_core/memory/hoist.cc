#include "compiler_core/memory/hoist.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace kiln::memory {

using namespace mlir;

void hoist(memref::AllocOp alloc, scf::ForallOp block, std::uint64_t bytes) {
  const Location loc = alloc.getLoc();
  OpBuilder b(block);
  const AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1), s0 = b.getAffineSymbolExpr(0);
  // How often the loop runs along each of its dimensions, and what a step of each is in iterations.
  SmallVector<OpFoldResult> weights(block.getRank());
  OpFoldResult count = b.getIndexAttr(1);
  for (std::size_t i = weights.size(); i-- > 0;) {
    weights[i] = count;
    const OpFoldResult runs = affine::makeComposedFoldedAffineApply(
        b, loc, (d1 - d0).ceilDiv(*getConstantIntValue(block.getMixedStep()[i])),
        {block.getMixedLowerBound()[i], block.getMixedUpperBound()[i]});
    count = affine::makeComposedFoldedAffineApply(b, loc, d0 * s0, {count, runs});
  }
  const OpFoldResult size =
      affine::makeComposedFoldedAffineApply(b, loc, d0 * static_cast<std::int64_t>(bytes), {count});
  const auto fixed = getConstantIntValue(size);
  const auto type = MemRefType::get({fixed.value_or(ShapedType::kDynamic)}, b.getI8Type());
  Value all = memref::AllocOp::create(b, loc, type, fixed ? ValueRange() : ValueRange(cast<Value>(size)),
                                      alloc.getAlignmentAttr());
  b.setInsertionPoint(alloc);
  OpFoldResult number = b.getIndexAttr(0);
  for (auto [i, weight] : llvm::enumerate(weights)) {
    const OpFoldResult own = affine::makeComposedFoldedAffineApply(
        b, loc, (d1 - d0).floorDiv(*getConstantIntValue(block.getMixedStep()[i])),
        {block.getMixedLowerBound()[i], OpFoldResult(block.getInductionVar(static_cast<std::int64_t>(i)))});
    OpFoldResult part = affine::makeComposedFoldedAffineApply(b, loc, d0 * s0, {own, weight});
    number = affine::makeComposedFoldedAffineApply(b, loc, d0 + d1, {number, part});
  }
  Value from = getValueOrCreateConstantIndexOp(
      b, loc, affine::makeComposedFoldedAffineApply(b, loc, d0 * static_cast<std::int64_t>(bytes), {number}));
  if (fixed)
    all = memref::CastOp::create(b, loc, MemRefType::get({ShapedType::kDynamic}, b.getI8Type()), all);
  alloc.replaceAllUsesWith(
      memref::ViewOp::create(b, loc, alloc.getType(), all, from, alloc.getDynamicSizes()).getResult());
  // Steps that were composed into the last one.
  for (Operation* op = from.getDefiningOp(); op;) {
    Operation* before = op->getPrevNode();
    if (isa<affine::AffineApplyOp>(op) && isOpTriviallyDead(op)) op->erase();
    op = before;
  }
  alloc.erase();
}

}  // namespace kiln::memory
