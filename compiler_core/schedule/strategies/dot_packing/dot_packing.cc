#include "compiler_core/schedule/strategies/dot_packing/dot_packing.h"

#include "compiler_core/ir/attributes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {

using namespace mlir;

bool emitDotPacking(RewriterBase& rewriter, linalg::LinalgOp op, const VectorShape& shape) {
  if (!ir::PacksDotAttr::isOn(op) || !op.hasPureBufferSemantics()) return false;
  const Location loc = op.getLoc();
  const std::int64_t steps = op.getNumDpsInputs();
  Value from = op.getDpsInputs()[0], to = op.getDpsInits()[0];
  auto type = dyn_cast<MemRefType>(from.getType()), made = dyn_cast<MemRefType>(to.getType());
  SmallVector<std::int64_t> strides, resultStrides;
  std::int64_t offset = 0, resultOffset = 0;
  if (!type || !made || failed(type.getStridesAndOffset(strides, offset)) ||
      failed(made.getStridesAndOffset(resultStrides, resultOffset)) || made.getRank() == 0 ||
      made.isDynamicDim(made.getRank() - 1) || strides.back() != steps || resultStrides.back() != 1)
    return false;

  // All codes of a row, those of the other operands between those of the first.
  rewriter.setInsertionPoint(op);
  auto parts = memref::ExtractStridedMetadataOp::create(rewriter, loc, from);
  SmallVector<OpFoldResult> sizes = getMixedValues(type.getShape(), parts.getSizes(), rewriter),
                            distances = getMixedValues(strides, parts.getStrides(), rewriter);
  const std::int64_t packedExtent = made.getShape().back();
  sizes.back() = rewriter.getIndexAttr(packedExtent * steps);
  distances.back() = rewriter.getIndexAttr(1);
  SmallVector<std::int64_t> extents(type.getShape());
  extents.back() = packedExtent * steps;
  strides.back() = 1;
  // Asked for even where the type says it: a part of a buffer may become a buffer of its own.
  const OpFoldResult begin = offset == 0 ? OpFoldResult(rewriter.getIndexAttr(0)) : parts.getOffset();
  const auto layout =
      StridedLayoutAttr::get(op.getContext(), offset == 0 ? 0 : ShapedType::kDynamic, strides);
  const Type element = type.getElementType();
  Value row = memref::ReinterpretCastOp::create(
      rewriter, loc, MemRefType::get(extents, element, layout, type.getMemorySpace()), parts.getBaseBuffer(),
      begin, sizes, distances);

  auto number = [&](std::int64_t value) -> Value {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  const std::int64_t width = shape.bits / 32, whole = packedExtent / width * width;
  SmallVector<Value> at;
  auto copy = [&](Value operand, std::int64_t count) {
    SmallVector<Value> source(at), target(at);
    source.push_back(affine::makeComposedAffineApply(rewriter, loc, rewriter.getAffineDimExpr(0) * steps,
                                                     {OpFoldResult(operand)}));
    target.push_back(operand);
    Value codes =
        vector::LoadOp::create(rewriter, loc, VectorType::get({count * steps}, element), row, source);
    vector::StoreOp::create(
        rewriter, loc,
        vector::BitCastOp::create(rewriter, loc, VectorType::get({count}, made.getElementType()), codes), to,
        target);
  };
  for (std::int64_t i = 0; i + 1 < made.getRank(); ++i) {
    Value extent = getValueOrCreateConstantIndexOp(rewriter, loc, sizes[i]);
    auto loop = scf::ForOp::create(rewriter, loc, number(0), extent, number(1));
    rewriter.setInsertionPointToStart(loop.getBody());
    at.push_back(loop.getInductionVar());
  }
  if (whole > 0) {
    Value first = number(0), last = number(whole), by = number(width), rest = number(whole);
    auto loop = scf::ForOp::create(rewriter, loc, first, last, by);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(loop.getBody());
      copy(loop.getInductionVar(), width);
    }
    if (whole < packedExtent) copy(rest, packedExtent - whole);
  } else {
    copy(number(0), packedExtent);
  }
  rewriter.eraseOp(op);
  return true;
}

}  // namespace kiln::schedule
