#include "compiler_core/schedule/emit/cpu/loop_nest.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/packed_dot.h"
#include "compiler_core/schedule/analysis/roles.h"
#include "compiler_core/schedule/analysis/weight_arguments.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {

using namespace mlir;

namespace {

// Where a part of a weight begins in it. Not asked of the part itself: that would keep the weight as it is
// where it is read in another layout. Null of anything else.
std::optional<OpFoldResult> beginningInWeight(OpBuilder& b, Location loc, Value buffer) {
  auto part = buffer.getDefiningOp<memref::SubViewOp>();
  if (!part || !weightArgument(part.getSource()) || !part.getSourceType().getLayout().isIdentity() ||
      !part.getSourceType().hasStaticShape())
    return std::nullopt;
  AffineExpr at = b.getAffineConstantExpr(0);
  SmallVector<OpFoldResult> offsets = part.getMixedOffsets();
  for (auto [i, stride] : llvm::enumerate(part.getSourceType().getStridesAndOffset().first))
    at = at + b.getAffineDimExpr(static_cast<unsigned>(i)) * stride;
  return affine::makeComposedFoldedAffineApply(b, loc, at, offsets);
}

// Where `map` leads to at the loops' beginning.
OpFoldResult beginning(OpBuilder& b, Location loc, Value buffer, AffineMap map) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  if (!type) return b.getIndexAttr(0);
  SmallVector<std::int64_t> strides;
  std::int64_t offset = 0;
  (void)type.getStridesAndOffset(strides, offset);
  const SmallVector<AffineExpr> zeros(map.getNumDims(), b.getAffineConstantExpr(0));
  std::int64_t at = 0;
  for (auto [expression, stride] : llvm::zip_equal(map.getResults(), strides))
    at +=
        cast<AffineConstantExpr>(simplifyAffineExpr(expression.replaceDims(zeros), 0, 0)).getValue() * stride;
  if (offset == 0) return b.getIndexAttr(at);
  if (const auto inWeight = beginningInWeight(b, loc, buffer))
    return affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0) + at, {*inWeight});
  // Asked for even where the type says it: a part of a buffer may become a buffer of its own.
  Value before = memref::ExtractStridedMetadataOp::create(b, loc, buffer).getOffset();
  return affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0) + at, {OpFoldResult(before)});
}

bool isStrided(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref) return !isa<ShapedType>(type);
  SmallVector<std::int64_t> strides;
  std::int64_t offset = 0;
  return succeeded(memref.getStridesAndOffset(strides, offset)) &&
         llvm::none_of(strides, [](std::int64_t stride) { return ShapedType::isDynamic(stride); });
}

// The loops that move an operand, those with the longest strides first: vectors lie along the last dimension.
SmallVector<unsigned> movers(const LoopNest& nest, unsigned operand) {
  SmallVector<unsigned> found;
  for (unsigned i = 0; i < nest.loops.size(); ++i)
    if (nest.loops[i].strides[operand] != 0) found.push_back(i);
  llvm::sort(found, [&](unsigned a, unsigned b) {
    return std::pair(-nest.loops[a].strides[operand], a) < std::pair(-nest.loops[b].strides[operand], b);
  });
  return found;
}

// The operand as a buffer with one dimension for each of these loops.
Value viewOf(OpBuilder& b, Location loc, const LoopNest& nest, unsigned operand) {
  const auto& [buffer, offset] = nest.operands[operand];
  auto type = dyn_cast<MemRefType>(buffer.getType());
  if (!type) return buffer;
  SmallVector<std::int64_t> sizes, strides;
  for (unsigned loop : movers(nest, operand)) {
    sizes.push_back(nest.loops[loop].extent);
    strides.push_back(nest.loops[loop].strides[operand]);
  }
  const auto layout = StridedLayoutAttr::get(
      b.getContext(), getConstantIntValue(offset).value_or(ShapedType::kDynamic), strides);
  return memref::ReinterpretCastOp::create(
      b, loc, MemRefType::get(sizes, type.getElementType(), layout, type.getMemorySpace()), buffer, offset,
      getAsIndexOpFoldResult(b.getContext(), sizes), getAsIndexOpFoldResult(b.getContext(), strides));
}

AffineMap mapOf(MLIRContext* context, const LoopNest& nest, unsigned operand) {
  SmallVector<AffineExpr> dims;
  if (isa<MemRefType>(nest.operands[operand].buffer.getType()))
    for (unsigned loop : movers(nest, operand)) dims.push_back(getAffineDimExpr(loop, context));
  return AffineMap::get(static_cast<unsigned>(nest.loops.size()), 0, dims, context);
}

linalg::GenericOp emitGeneric(OpBuilder& b, Location loc, const LoopNest& nest, unsigned inputs,
                              llvm::function_ref<void(OpBuilder&, Region&)> body) {
  SmallVector<Value> views;
  SmallVector<AffineMap> maps;
  for (unsigned i = 0; i < nest.operands.size(); ++i) {
    views.push_back(viewOf(b, loc, nest, i));
    maps.push_back(mapOf(b.getContext(), nest, i));
  }
  SmallVector<utils::IteratorType> types;
  for (const NestLoop& loop : nest.loops) types.push_back(loop.type);
  auto generic = linalg::GenericOp::create(b, loc, ArrayRef(views).take_front(inputs),
                                           ArrayRef(views).drop_front(inputs), maps, types);
  OpBuilder::InsertionGuard guard(b);
  body(b, generic.getRegion());
  return generic;
}

}  // namespace

std::optional<LoopNest> nestOf(OpBuilder& b, linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() || op.hasIndexSemantics()) return std::nullopt;
  LoopNest nest;
  for (auto [extent, type] : llvm::zip_equal(op.getStaticLoopRanges(), op.getIteratorTypesArray())) {
    if (ShapedType::isDynamic(extent)) return std::nullopt;
    nest.loops.push_back({extent, type, {}});
  }
  for (OpOperand& operand : op->getOpOperands()) {
    const Type type = operand.get().getType();
    if (!isStrided(type)) return std::nullopt;
    for (auto [i, loop] : llvm::enumerate(nest.loops)) {
      const auto stride = strideAlong(op.getMatchingIndexingMap(&operand), type, static_cast<unsigned>(i));
      if (!stride) return std::nullopt;
      loop.strides.push_back(loop.extent == 1 ? 0 : *stride);
    }
  }
  for (OpOperand& operand : op->getOpOperands())
    nest.operands.push_back(
        {operand.get(), beginning(b, op.getLoc(), operand.get(), op.getMatchingIndexingMap(&operand))});
  return nest;
}

void joinLoops(LoopNest& nest) {
  SmallVector<NestLoop> joined;
  for (NestLoop& loop : nest.loops) {
    if (loop.extent == 1) continue;
    if (!joined.empty() && joined.back().type == loop.type &&
        llvm::all_of(llvm::zip_equal(joined.back().strides, loop.strides),
                     [&](auto pair) { return std::get<0>(pair) == std::get<1>(pair) * loop.extent; })) {
      joined.back().extent *= loop.extent;
      joined.back().strides = std::move(loop.strides);
    } else {
      joined.push_back(std::move(loop));
    }
  }
  nest.loops = std::move(joined);
}

std::int64_t points(const LoopNest& nest, ArrayRef<unsigned> loops) {
  std::int64_t result = 1;
  for (unsigned loop : loops) result *= nest.loops[loop].extent;
  return result;
}

bool isOne(const LoopNest& nest, ArrayRef<unsigned> loops, unsigned operand) {
  std::optional<std::int64_t> dense;
  for (unsigned i : llvm::reverse(loops)) {
    const NestLoop& loop = nest.loops[i];
    if (loop.extent == 1) continue;
    if (dense && loop.strides[operand] != *dense) return false;
    dense = loop.strides[operand] * loop.extent;
  }
  return true;
}

SmallVector<unsigned> takeSideBySide(const LoopNest& nest, ArrayRef<unsigned> loops, unsigned operand,
                                     SmallVectorImpl<unsigned>& rest) {
  SmallVector<unsigned> found;
  std::int64_t dense = 1;
  for (unsigned i : llvm::reverse(loops)) {
    const NestLoop& loop = nest.loops[i];
    if (loop.extent > 1 && loop.strides[operand] != dense) {
      rest.push_back(i);
      continue;
    }
    found.insert(found.begin(), i);
    dense *= loop.extent;
  }
  return found;
}

void walkLoop(OpBuilder& b, Location loc, LoopNest& nest, unsigned number, LoopRange range,
              llvm::function_ref<void()> body) {
  if (range.from >= range.to) return;
  NestLoop& loop = nest.loops[number];
  const auto places = nest.operands;
  const std::int64_t extent = std::exchange(loop.extent, range.by);
  OpBuilder::InsertionGuard guard(b);
  OpFoldResult iv = b.getIndexAttr(range.from);
  if (range.to - range.from > range.by) {
    auto at = [&](std::int64_t value) { return arith::ConstantIndexOp::create(b, loc, value).getResult(); };
    auto steps = scf::ForOp::create(b, loc, at(range.from), at(range.to), at(range.by));
    b.setInsertionPointToStart(steps.getBody());
    iv = steps.getInductionVar();
  }
  for (auto [place, stride] : llvm::zip_equal(nest.operands, loop.strides)) {
    if (stride == 0) continue;
    const AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    place.offset = affine::makeComposedFoldedAffineApply(b, loc, d0 + d1 * stride, {place.offset, iv});
  }
  body();
  nest.operands = places;
  nest.loops[number].extent = extent;
}

linalg::GenericOp emitNest(OpBuilder& b, linalg::LinalgOp op, const LoopNest& nest) {
  auto generic = emitGeneric(b, op.getLoc(), nest, static_cast<unsigned>(op.getNumDpsInputs()),
                             [&](OpBuilder&, Region& region) {
                               IRMapping map;
                               op->getRegion(0).cloneInto(&region, map);
                             });
  if (auto dot = ir::DotAttr::get(op)) ir::DotAttr::set(generic, dot);
  return generic;
}

linalg::GenericOp emitCopy(OpBuilder& b, Location loc, const LoopNest& nest) {
  return emitGeneric(b, loc, nest, 1, [&](OpBuilder& b, Region& region) {
    const Type element = getElementTypeOrSelf(nest.operands[0].buffer.getType());
    Block* body = b.createBlock(&region, {}, {element, element}, {loc, loc});
    linalg::YieldOp::create(b, loc, body->getArgument(0));
  });
}

}  // namespace kiln::schedule
