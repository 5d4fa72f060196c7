// Products whose factors are bytes or bf16 become products of packed dot operands, on targets with such
// instructions.
#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/schedule/lower/lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace kiln::schedule {

using namespace mlir;

namespace {

Value shiftBy(OpBuilder& b, Location loc, Type type, std::int64_t by) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, by));
}

// Step `number` of packed bytes, in i32.
Value byteOf(OpBuilder& b, Location loc, Value packed, std::int64_t number, bool isSigned) {
  Value high = arith::ShLIOp::create(b, loc, packed, shiftBy(b, loc, packed.getType(), 24 - 8 * number));
  Value by = shiftBy(b, loc, packed.getType(), 24);
  return isSigned ? Value(arith::ShRSIOp::create(b, loc, high, by))
                  : Value(arith::ShRUIOp::create(b, loc, high, by));
}

// Codes as the steps of one packed operand, the first in the lowest bits; what is missing is 0.
Value packed(OpBuilder& b, Location loc, ValueRange codes, std::int64_t steps) {
  const Type type = b.getI32Type();
  Value all;
  for (auto [step, code] : llvm::enumerate(codes)) {
    Value own = arith::ExtUIOp::create(b, loc, type, code);
    if (step > 0)
      own = arith::ShLIOp::create(b, loc, own,
                                  shiftBy(b, loc, type, 32 / steps * static_cast<std::int64_t>(step)));
    all = all ? Value(arith::OrIOp::create(b, loc, all, own)) : own;
  }
  return all;
}

// Step `number` of packed bf16, in f32.
Value floatOf(OpBuilder& b, Location loc, Value packed, std::int64_t number) {
  Value by = shiftBy(b, loc, packed.getType(), 16);
  Value code = number == 0 ? packed : Value(arith::ShRUIOp::create(b, loc, packed, by));
  return arith::BitcastOp::create(b, loc, b.getF32Type(), arith::ShLIOp::create(b, loc, code, by));
}

}  // namespace

std::optional<Lowering::DotFactors> Lowering::dotFactors(Value left, Value right) {
  const Type element = ir::tensorType(left).getElementType();
  if (dots_.bytes && element.isInteger(32)) {
    const auto isByte = [](Type type) { return type.isInteger(8); };
    const auto a = beforeCast(left, isByte), b = beforeCast(right, isByte);
    if (!a || !b || a->element.isUnsignedInteger() == b->element.isUnsignedInteger()) return std::nullopt;
    return DotFactors{*a, *b, kByteSteps,
                      a->element.isUnsignedInteger() ? kUnsignedBySigned : kSignedByUnsigned};
  }
  if (dots_.bf16 && element.isF32()) {
    const auto isBf16 = [](Type type) { return type.isBF16(); };
    const auto a = beforeCast(left, isBf16), b = beforeCast(right, isBf16);
    if (!a || !b) return std::nullopt;
    return DotFactors{*a, *b, kBf16Steps, kBf16ByBf16};
  }
  return std::nullopt;
}

Value Lowering::packedDotOperand(const Factor& factor, unsigned axis, std::int64_t steps) {
  if (factor.weight) return layOutWeight_(factor.weight, {}, DotPacking{axis, steps});
  auto [known, isNew] = packedOperands_.try_emplace({factor.value, axis});
  // What was packed in a body is known there alone.
  if (!isNew && known->second.getParentBlock() == b_.getInsertionBlock()) return known->second;
  const ir::Shape given = shapeOf(factor.value);
  const auto rank = static_cast<unsigned>(given.size());
  const Type code = getElementTypeOrSelf(factor.value.getType()), packedType = b_.getI32Type();
  const std::int64_t count = (given[axis].value() + steps - 1) / steps;
  Value codes = factor.value;
  if (count * steps != given[axis].value()) {
    ir::Shape whole = given;
    whole[axis] = count * steps;
    nextGroup();
    codes = insert(codes, fill(scalar(code, 0), whole), SmallVector<std::int64_t>(rank, 0));
  }
  nextGroup();
  // Each step of all packed operands is a slice of the codes.
  ir::Shape parted = given, shape = given;
  parted[axis] = count;
  parted.insert(parted.begin() + axis + 1, ir::Dim(steps));
  shape[axis] = count;
  codes = reshape(codes, parted);
  SmallVector<Value> slices;
  for (std::int64_t step = 0; step < steps; ++step) {
    SmallVector<OpFoldResult> offsets(rank + 1, b_.getIndexAttr(0)), extents = sizes(parted);
    offsets[axis + 1] = b_.getIndexAttr(step);
    extents[axis + 1] = b_.getIndexAttr(1);
    slices.push_back(shaped(
        tensor::ExtractSliceOp::create(b_, loc_, convert(ir::tensorTypeOf(shape, code)), codes, offsets,
                                       extents, SmallVector<OpFoldResult>(rank + 1, b_.getIndexAttr(1))),
        shape));
  }
  const SmallVector<AffineMap> maps(slices.size() + 1, b_.getMultiDimIdentityMap(rank));
  Value made = generic(
      slices, empty(shape, packedType), maps, 0,
      [&](OpBuilder& b, Location loc, ValueRange v) { return packed(b, loc, v.take_front(steps), steps); });
  if (axis + 1 == rank) ir::PacksDotAttr::set(made.getDefiningOp(), b_.getUnitAttr());
  nextGroup();
  return packedOperands_[{factor.value, axis}] = made;
}

Value Lowering::packedRows(Value input, const ir::Dim& windows, const WindowAxis& axis) {
  ir::Shape shape = shapeOf(input);
  const auto rank = static_cast<unsigned>(shape.size());
  shape[2] = windows;
  SmallVector<Value> rows;
  for (std::int64_t row = 0; row < axis.kernel; ++row) {
    SmallVector<OpFoldResult> offsets(rank, b_.getIndexAttr(0)), strides(rank, b_.getIndexAttr(1));
    offsets[2] = b_.getIndexAttr(row * axis.dilation);
    strides[2] = b_.getIndexAttr(axis.stride);
    rows.push_back(
        shaped(tensor::ExtractSliceOp::create(b_, loc_, input, offsets, sizes(shape), strides), shape));
  }
  const SmallVector<AffineMap> maps(rows.size() + 1, b_.getMultiDimIdentityMap(rank));
  return generic(rows, empty(shape, b_.getI32Type()), maps, 0, [&](OpBuilder& b, Location loc, ValueRange v) {
    return packed(b, loc, v.take_front(rows.size()), kByteSteps);
  });
}

Value Lowering::dotProduct(Value left, Value right, Value init, ArrayRef<AffineMap> maps, unsigned reductions,
                           StringRef kind) {
  Value made =
      generic({left, right}, init, maps, reductions,
              [&](OpBuilder& b, Location loc, ValueRange v) -> Value { return dotStep(b, loc, kind, v); });
  ir::DotAttr::set(made.getDefiningOp(), b_.getStringAttr(kind));
  return made;
}

Value Lowering::dotStep(OpBuilder& b, Location loc, StringRef kind, ValueRange v) {
  Value sum = v[2];
  if (kind == kBf16ByBf16) {
    for (std::int64_t step = 0; step < kBf16Steps; ++step)
      sum = arith::AddFOp::create(
          b, loc, sum,
          arith::MulFOp::create(b, loc, floatOf(b, loc, v[0], step), floatOf(b, loc, v[1], step)));
    return sum;
  }
  for (std::int64_t step = 0; step < kByteSteps; ++step) {
    Value x = byteOf(b, loc, v[0], step, kind == kSignedByUnsigned),
          y = byteOf(b, loc, v[1], step, kind == kUnsignedBySigned);
    sum = arith::AddIOp::create(b, loc, sum, arith::MulIOp::create(b, loc, x, y));
  }
  return sum;
}

}  // namespace kiln::schedule
