#include "compiler_core/schedule/emit/gpu/panels.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/roles.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

constexpr std::int64_t kAccessBytes = 16;

// Whether the first element of `buffer` lies at a multiple of `elements` elements: buffers themselves do.
bool isAligned(Value buffer, std::int64_t elements) {
  Operation* op = buffer.getDefiningOp();
  if (!op) return isa<func::FuncOp>(cast<BlockArgument>(buffer).getOwner()->getParentOp());
  if (isa<memref::AllocOp>(op)) return true;
  if (isa<memref::ExpandShapeOp, memref::CollapseShapeOp, memref::CastOp>(op))
    return isAligned(op->getOperand(0), elements);
  auto view = dyn_cast<memref::SubViewOp>(op);
  if (!view) return false;
  SmallVector<std::int64_t> strides;
  std::int64_t start = 0;
  if (failed(view.getSourceType().getStridesAndOffset(strides, start))) return false;
  for (auto [offset, stride] : llvm::zip_equal(view.getMixedOffsets(), strides)) {
    if (ShapedType::isDynamic(stride)) return false;
    const auto number = getConstantIntValue(offset);
    const std::int64_t divisor = number ? *number : knownDivisor(cast<Value>(offset));
    if (divisor * stride % elements != 0) return false;
  }
  return isAligned(view.getSource(), elements);
}

unsigned innermost(ArrayRef<unsigned> loops, ArrayRef<OpFoldResult> sizes) {
  for (unsigned loop : llvm::reverse(loops))
    if (getConstantIntValue(sizes[loop]) != 1) return loop;
  return loops.empty() ? 0 : loops.back();
}

// To nearest, ties away from zero, as the conversion instruction of devices rounds.
Value roundedToTf32(OpBuilder& b, Location loc, Value value) {
  Type type = value.getType(), bits = b.getI32Type();
  if (auto vector = dyn_cast<VectorType>(type)) bits = vector.clone(bits);
  auto number = [&](std::uint32_t n) -> Value {
    TypedAttr attribute = b.getIntegerAttr(b.getI32Type(), APInt(32, n));
    if (auto vector = dyn_cast<VectorType>(bits))
      attribute = DenseElementsAttr::get(vector, Attribute(attribute));
    return arith::ConstantOp::create(b, loc, attribute);
  };
  Value code = arith::BitcastOp::create(b, loc, bits, value);
  Value rounded =
      arith::AndIOp::create(b, loc, arith::AddIOp::create(b, loc, code, number(0x1000)), number(0xffffe000));
  // An infinity or NaN stays what it is; a NaN keeps a bit that tensor cores see.
  Value magnitude = arith::AndIOp::create(b, loc, code, number(0x7fffffff));
  Value isFinite = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, magnitude, number(0x7f800000));
  Value isNan = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, magnitude, number(0x7f800000));
  Value special = arith::SelectOp::create(b, loc, isNan, number(0x7fc00000), code);
  return arith::BitcastOp::create(b, loc, type, arith::SelectOp::create(b, loc, isFinite, rounded, special));
}

}  // namespace

SmallVector<OpFoldResult> ProductLoops::sizesOf(ArrayRef<unsigned> loops) const {
  return llvm::map_to_vector(loops, [&](unsigned loop) { return sizes[loop]; });
}

Panel::Panel(OpBuilder& builder, Location loc, const PanelShape& shape, Type element)
    : b_(builder), loc_(loc), math_(builder, loc), shape_(shape) {
  // Rows of a panel begin at different banks, and where an access of full width may begin.
  const std::int64_t pad = std::max<std::int64_t>(4, kAccessBytes * 8 / element.getIntOrFloatBitWidth());
  const bool rowsInside = shape.order == PanelOrder::kRowsInside;
  const std::int64_t sizes[] = {rowsInside ? shape.depth : shape.rows,
                                (rowsInside ? shape.rows : shape.depth) + pad};
  auto alloc = memref::AllocOp::create(b_, loc_, MemRefType::get(sizes, element), b_.getI64IntegerAttr(64));
  ir::PanelAttr::set(alloc, b_.getUnitAttr());
  buffer_ = alloc.getMemref();
}

Value Panel::converted(Value factor) const {
  return shape_.roundsTf32 ? roundedToTf32(b_, loc_, factor) : factor;
}

SmallVector<Value> Panel::place(Value row, Value depth) const {
  if (shape_.order == PanelOrder::kRowsInside) return {depth, row};
  return {row, depth};
}

Value Panel::read(Value row, Value depth, std::int64_t count) const {
  if (count == 0) return memref::LoadOp::create(b_, loc_, buffer_, place(row, depth));
  const Type element = buffer_.getType().getElementType();
  const std::int64_t bytes = count * element.getIntOrFloatBitWidth() / 8;
  return vector::LoadOp::create(b_, loc_, VectorType::get({count}, element), buffer_, place(row, depth),
                                false,
                                llvm::MaybeAlign(static_cast<std::uint64_t>(std::min(bytes, kAccessBytes))));
}

void Panel::write(Value factor, Value row, Value depth) const {
  memref::StoreOp::create(b_, loc_, converted(factor), buffer_, place(row, depth));
}

GatheredPanel::GatheredPanel(OpBuilder& builder, Location loc, const ProductLoops& nest, PanelSource source,
                             const PanelShape& shape, const BlockThread& thread)
    : Panel(builder, loc, shape, shape.codes ? Type(builder.getI16Type()) : source.factor),
      nest_(nest),
      source_(std::move(source)),
      thread_(thread) {
  rows_ = math_.product(nest.sizesOf(source_.rows));
  depth_ = math_.product(nest.sizesOf(nest.reductions));
  alongDepth_ = decideOrder();
  makeSlots();
}

// Along the dimension in which neighbours lie next to each other in memory; true for the depth.
bool GatheredPanel::decideOrder() {
  const Type type = source_.buffer.getType();
  const unsigned row = innermost(source_.rows, nest_.sizes), step = innermost(nest_.reductions, nest_.sizes);
  constexpr std::int64_t kNear = 4;  // a convolution's stride
  const auto near = [&](unsigned loop) {
    const auto stride = strideAlong(source_.map, type, loop);
    return stride && *stride >= 1 && *stride <= kNear;
  };
  const bool rowsAreNear = !source_.rows.empty() && near(row);
  const bool alongDepth = near(step) && !(rowsAreNear && strideAlong(source_.map, type, step) != 1) &&
                          !(rowsAreNear && getConstantIntValue(nest_.sizes[step]).value_or(kAccessBytes) < 8);
  width_ = widthOf(alongDepth ? step : row, alongDepth);
  return alongDepth;
}

// How many neighbours one access takes: all of them lie inside or none, at an address that is a multiple.
std::int64_t GatheredPanel::widthOf(unsigned inner, bool alongDepth) const {
  auto type = cast<MemRefType>(source_.buffer.getType());
  const Type element = type.getElementType();
  if (!shape_.codes && source_.unpack) return 1;
  // A panel that is transposed on its way is stored element by element, and a wide access would send many
  // elements to one bank.
  const bool transposes = alongDepth != (shape_.order == PanelOrder::kDepthInside);
  if (transposes && !shape_.codes) return 1;
  const std::int64_t width = transposes ? 2 : kAccessBytes * 8 / element.getIntOrFloatBitWidth();
  const ArrayRef<unsigned> loops = alongDepth ? ArrayRef(nest_.reductions) : ArrayRef(source_.rows);
  if (loops.empty() || (alongDepth ? shape_.depth : shape_.rows) % width != 0) return 1;
  const auto extent = getConstantIntValue(nest_.sizes[inner]);
  if (!extent || *extent % width != 0 || strideAlong(source_.map, type, inner) != 1) return 1;
  // What the other loops add is a multiple of the width.
  for (unsigned loop = 0; loop < source_.map.getNumDims(); ++loop) {
    if (loop == inner || !source_.map.isFunctionOfDim(loop)) continue;
    const auto stride = strideAlong(source_.map, type, loop);
    if (!stride || (*stride % width != 0 && getConstantIntValue(nest_.sizes[loop]) != 1)) return 1;
  }
  // A map that starts beside the first element, or a view that does.
  for (AffineExpr expression : source_.map.getResults())
    if (isa<AffineConstantExpr>(expression)) return 1;
  return isAligned(source_.buffer, width) ? width : 1;
}

void GatheredPanel::makeSlots() {
  const std::int64_t fast = (alongDepth_ ? shape_.depth : shape_.rows) / width_,
                     slow = alongDepth_ ? shape_.rows : shape_.depth, units = fast * slow;
  const auto [thread, threads] = thread_;
  for (std::int64_t first = 0; first < units; first += threads) {
    Slot slot;
    Value at[2];  // along the fast and the slow dimension
    if (threads % fast == 0) {
      at[0] = math_.rem(thread, fast);
      at[1] = math_.add(math_.div(thread, fast), first / fast);
      if (first + threads > units) slot.isActive = math_.less(at[1], slow);
    } else {
      Value unit = math_.add(thread, first);
      if (first + threads > units) slot.isActive = math_.less(unit, units);
      at[0] = math_.rem(unit, fast);
      at[1] = math_.div(unit, fast);
    }
    // Threads beyond the panel load what the first row has.
    if (slot.isActive) at[1] = arith::SelectOp::create(b_, loc_, slot.isActive, at[1], math_.number(0));
    at[0] = math_.mul(at[0], width_);
    slot.row = at[alongDepth_ ? 1 : 0];
    slot.depth = at[alongDepth_ ? 0 : 1];
    slots_.push_back(slot);
  }
}

void GatheredPanel::setRows(ArrayRef<Value> batch, Value rowFrom) {
  batch_.assign(batch.begin(), batch.end());
  const auto rows = getConstantIntValue(rows_);
  const bool whole = rows && *rows % shape_.rows == 0;
  llvm::SmallDenseMap<Value, Slot*> known;
  for (Slot& slot : slots_) {
    if (Slot* same = known.lookup(slot.row)) {
      slot.loops = same->loops;
      slot.isInside = same->isInside;
      continue;
    }
    Value row = math_.add(rowFrom, slot.row);
    slot.isInside = {};
    if (!whole) {
      slot.isInside = math_.less(row, math_.value(rows_));
      row = arith::SelectOp::create(b_, loc_, slot.isInside, row, math_.number(0));
    }
    slot.loops = math_.delinearise(row, nest_.sizesOf(source_.rows));
    known[slot.row] = &slot;
  }
}

Type GatheredPanel::loadedType() const {
  const Type element = getElementTypeOrSelf(source_.buffer.getType());
  return width_ == 1 ? element : Type(VectorType::get({width_}, element));
}

std::uint64_t GatheredPanel::accessBytes() const {
  return static_cast<std::uint64_t>(width_) *
         getElementTypeOrSelf(source_.buffer.getType()).getIntOrFloatBitWidth() / 8;
}

SmallVector<Value> GatheredPanel::zeros() {
  Value zero = arith::ConstantOp::create(b_, loc_, b_.getZeroAttr(loadedType()));
  return SmallVector<Value>(slots_.size(), zero);
}

SmallVector<Value> GatheredPanel::load(Value depthFrom) {
  struct Step {
    SmallVector<Value> loops;
    Value isInside;
  };
  llvm::SmallDenseMap<Value, std::size_t> known;
  SmallVector<Step> steps;
  const auto depth = getConstantIntValue(depth_);
  const bool whole = depth && *depth % shape_.depth == 0;
  Value source = source_.buffer, zero;
  SmallVector<Value> loaded;
  for (const Slot& slot : slots_) {
    auto [found, isNew] = known.try_emplace(slot.depth, steps.size());
    if (isNew) {
      Value at = math_.add(depthFrom, slot.depth), isInside;
      if (!whole) {
        isInside = math_.less(at, math_.value(depth_));
        at = arith::SelectOp::create(b_, loc_, isInside, at, math_.number(0));
      }
      steps.push_back({math_.delinearise(at, nest_.sizesOf(nest_.reductions)), isInside});
    }
    const Step& step = steps[found->second];
    SmallVector<OpFoldResult> loops(source_.map.getNumDims(), b_.getIndexAttr(0));
    auto set = [&](ArrayRef<unsigned> dims, ArrayRef<Value> values) {
      for (auto [dim, value] : llvm::zip_equal(dims, values)) loops[dim] = getAsOpFoldResult(value);
    };
    set(nest_.batch, batch_);
    set(source_.rows, slot.loops);
    set(nest_.reductions, step.loops);
    SmallVector<Value> indices;
    for (unsigned i = 0; i < source_.map.getNumResults(); ++i)
      indices.push_back(
          math_.value(affine::makeComposedFoldedAffineApply(b_, loc_, source_.map.getSubMap({i}), loops)));
    Value value;
    if (width_ == 1)
      value = memref::LoadOp::create(b_, loc_, source, indices);
    else
      value = vector::LoadOp::create(b_, loc_, cast<VectorType>(loadedType()), source, indices, false,
                                     llvm::MaybeAlign(accessBytes()));
    if (Value isInside = math_.both(slot.isInside, step.isInside)) {
      if (!zero) zero = arith::ConstantOp::create(b_, loc_, b_.getZeroAttr(loadedType()));
      value = arith::SelectOp::create(b_, loc_, isInside, value, zero);
    }
    loaded.push_back(value);
  }
  return loaded;
}

void GatheredPanel::store(ValueRange loaded) {
  for (auto [slot, value] : llvm::zip_equal(slots_, loaded)) {
    Value factor = value;
    if (!shape_.codes && source_.unpack) factor = source_.unpack(b_, loc_, factor);
    factor = converted(factor);
    auto put = [&] {
      if (width_ == 1)
        return (void)memref::StoreOp::create(b_, loc_, factor, buffer_, place(slot.row, slot.depth));
      if (alongDepth_ == (shape_.order == PanelOrder::kDepthInside))
        return (void)vector::StoreOp::create(b_, loc_, factor, buffer_, place(slot.row, slot.depth), false,
                                             llvm::MaybeAlign(kAccessBytes));
      for (std::int64_t i = 0; i < width_; ++i)
        memref::StoreOp::create(
            b_, loc_, vector::ExtractOp::create(b_, loc_, factor, i), buffer_,
            place(math_.add(slot.row, alongDepth_ ? 0 : i), math_.add(slot.depth, alongDepth_ ? i : 0)));
    };
    if (!slot.isActive) {
      put();
      continue;
    }
    auto guarded = scf::IfOp::create(b_, loc_, slot.isActive);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(guarded.thenBlock());
    put();
  }
}

}  // namespace kiln::schedule
