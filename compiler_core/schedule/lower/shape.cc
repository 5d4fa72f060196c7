#include "compiler_core/schedule/lower/lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace kiln::schedule {

using namespace mlir;

Value Lowering::constant(ir::ConstantOp op) {
  auto type = convert(op.getType());
  auto value = cast<DenseElementsAttr>(op.getValue());
  if (value.getElementType().isInteger(1))
    value = value.mapValues(b_.getI8Type(), [](const APInt& bit) { return bit.zext(8); });
  // A splat stays one scalar; only small payloads become data of the program.
  if (value.isSplat())
    return fill(arith::ConstantOp::create(b_, loc_, value.getSplatValue<TypedAttr>()), type);
  return arith::ConstantOp::create(b_, loc_, value);
}

Value Lowering::broadcast(ir::BroadcastOp op) {
  auto from = convert(op.getInput().getType()), to = convert(op.getType());
  const std::int64_t missing = to.getRank() - from.getRank();
  SmallVector<std::int64_t> kept;
  SmallVector<AffineExpr> dims;
  for (std::int64_t i = 0; i < from.getRank(); ++i) {
    if (from.getDimSize(i) != to.getDimSize(i + missing)) continue;
    kept.push_back(from.getDimSize(i));
    dims.push_back(b_.getAffineDimExpr(i + missing));
  }
  Value input = reshape(get(op.getInput()), kept);
  return generic(
      input, empty(to.getShape(), to.getElementType()),
      {AffineMap::get(to.getRank(), 0, dims, b_.getContext()), b_.getMultiDimIdentityMap(to.getRank())}, 0,
      [](OpBuilder&, Location, ValueRange values) { return values[0]; });
}

Value Lowering::transpose(Value input, ArrayRef<std::int64_t> permutation) {
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<std::int64_t> shape(type.getRank());
  SmallVector<AffineExpr> dims(type.getRank());
  for (auto [to, from] : llvm::enumerate(permutation)) {
    shape[to] = type.getDimSize(from);
    dims[from] = b_.getAffineDimExpr(to);
  }
  return generic(
      input, empty(shape, type.getElementType()),
      {AffineMap::get(type.getRank(), 0, dims, b_.getContext()), b_.getMultiDimIdentityMap(type.getRank())},
      0, [](OpBuilder&, Location, ValueRange values) { return values[0]; });
}

// A part that nothing else uses is made in its place: it is inserted right behind what makes it, so that its
// buffer can be a piece of the result's. The others are copied.
Value Lowering::concat(ir::ConcatOp op) {
  auto type = convert(op.getType());
  struct Part {
    Value value;
    std::int64_t offset;
  };
  SmallVector<Part> inPlace, copied;
  std::int64_t next = 0;
  for (Value input : op.getInputs()) {
    Value value = get(input);
    const bool fresh = input.hasOneUse() && value.use_empty() && value.getDefiningOp<linalg::GenericOp>();
    (fresh ? inPlace : copied).push_back({value, next});
    next += cast<RankedTensorType>(input.getType()).getDimSize(op.getAxis());
  }
  llvm::stable_sort(inPlace, [](const Part& a, const Part& b) {
    return a.value.getDefiningOp()->isBeforeInBlock(b.value.getDefiningOp());
  });
  SmallVector<std::int64_t> offsets(type.getRank(), 0);
  Value result;
  {
    OpBuilder::InsertionGuard guard(b_);
    if (!inPlace.empty()) b_.setInsertionPointToStart(b_.getInsertionBlock());
    result = empty(type.getShape(), type.getElementType());
    for (const Part& part : inPlace) {
      b_.setInsertionPointAfterValue(part.value);
      offsets[op.getAxis()] = part.offset;
      SmallVector<OpFoldResult> at, sizes, strides(type.getRank(), b_.getIndexAttr(1));
      for (auto [offset, size] :
           llvm::zip_equal(offsets, cast<RankedTensorType>(part.value.getType()).getShape())) {
        at.push_back(b_.getIndexAttr(offset));
        sizes.push_back(b_.getIndexAttr(size));
      }
      result = tensor::InsertSliceOp::create(b_, loc_, part.value, result, at, sizes, strides);
    }
  }
  for (const Part& part : copied) {
    offsets[op.getAxis()] = part.offset;
    result = insert(part.value, result, offsets);
  }
  return result;
}

Value Lowering::slice(ir::SliceOp op) {
  auto type = convert(op.getType());
  Value input = get(op.getInput());
  if (llvm::all_of(op.getStrides(), [](std::int64_t stride) { return stride > 0; })) {
    SmallVector<OpFoldResult> offsets, sizes, strides;
    for (std::int64_t i = 0; i < type.getRank(); ++i) {
      offsets.push_back(b_.getIndexAttr(op.getOffsets()[i]));
      sizes.push_back(b_.getIndexAttr(type.getDimSize(i)));
      strides.push_back(b_.getIndexAttr(op.getStrides()[i]));
    }
    return tensor::ExtractSliceOp::create(b_, loc_, input, offsets, sizes, strides);
  }
  // Backwards: a view cannot say it, a loop can.
  return generic(
      {}, empty(type.getShape(), type.getElementType()), {b_.getMultiDimIdentityMap(type.getRank())}, 0,
      [&](OpBuilder& b, Location loc, ValueRange) -> Value {
        SmallVector<Value> at;
        for (std::int64_t i = 0; i < type.getRank(); ++i) {
          Value index = linalg::IndexOp::create(b, loc, i);
          Value stride = arith::ConstantIndexOp::create(b, loc, op.getStrides()[i]);
          Value offset = arith::ConstantIndexOp::create(b, loc, op.getOffsets()[i]);
          at.push_back(arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, index, stride), offset));
        }
        return tensor::ExtractOp::create(b, loc, input, at);
      });
}

Value Lowering::gather(ir::GatherOp op) {
  auto type = convert(op.getType());
  auto indices = cast<RankedTensorType>(op.getIndices().getType());
  Value input = get(op.getInput());
  const std::int64_t axis = op.getAxis(), indexRank = indices.getRank();
  const std::int64_t extent = cast<RankedTensorType>(input.getType()).getDimSize(axis);
  SmallVector<AffineExpr> indexDims;
  for (std::int64_t i = 0; i < indexRank; ++i) indexDims.push_back(b_.getAffineDimExpr(axis + i));
  return generic(get(op.getIndices()), empty(type.getShape(), type.getElementType()),
                 {AffineMap::get(type.getRank(), 0, indexDims, b_.getContext()),
                  b_.getMultiDimIdentityMap(type.getRank())},
                 0, [&](OpBuilder& b, Location loc, ValueRange values) -> Value {
                   auto number = [&](std::int64_t value) {
                     return arith::ConstantIndexOp::create(b, loc, value).getResult();
                   };
                   Value index = arith::IndexCastOp::create(b, loc, b.getIndexType(), values[0]);
                   Value negative =
                       arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index, number(0));
                   index = arith::SelectOp::create(
                       b, loc, negative, arith::AddIOp::create(b, loc, index, number(extent)), index);
                   index = arith::MaxSIOp::create(b, loc, index, number(0));
                   index = arith::MinSIOp::create(b, loc, index, number(extent - 1));
                   SmallVector<Value> at;
                   for (std::int64_t i = 0; i < type.getRank(); ++i) {
                     if (i == axis) at.push_back(index);
                     if (i < axis || i >= axis + indexRank) at.push_back(linalg::IndexOp::create(b, loc, i));
                   }
                   if (axis == type.getRank()) at.push_back(index);
                   return tensor::ExtractOp::create(b, loc, input, at);
                 });
}

Value Lowering::iota(ir::IotaOp op) {
  auto type = convert(op.getType());
  return generic({}, empty(type.getShape(), type.getElementType()),
                 {b_.getMultiDimIdentityMap(type.getRank())}, 0,
                 [&](OpBuilder& b, Location loc, ValueRange) -> Value {
                   Value index = linalg::IndexOp::create(b, loc, op.getAxis());
                   Value number = arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
                   return castScalar(b, loc, number, b.getI64Type(),
                                     cast<RankedTensorType>(op.getType()).getElementType());
                 });
}

Value Lowering::pad(ir::PadOp op) {
  Value input = get(op.getInput());
  auto from = cast<RankedTensorType>(input.getType()), to = convert(op.getType());
  if (op.getMode() == ir::PadMode::Constant) {
    SmallVector<std::int64_t> strides;
    for (const std::int64_t interior : op.getInterior()) strides.push_back(interior + 1);
    Value around = get(op.getValue());
    Value base =
        generic(around, empty(to.getShape(), to.getElementType()),
                {AffineMap::get(to.getRank(), 0, b_.getContext()), b_.getMultiDimIdentityMap(to.getRank())},
                0, [](OpBuilder&, Location, ValueRange v) { return v[0]; });
    return insert(input, base, op.getLow(), strides);
  }
  // The others read the position that each result repeats.
  return generic({}, empty(to.getShape(), to.getElementType()), {b_.getMultiDimIdentityMap(to.getRank())}, 0,
                 [&](OpBuilder& b, Location loc, ValueRange) -> Value {
                   auto number = [&](std::int64_t value) {
                     return arith::ConstantIndexOp::create(b, loc, value).getResult();
                   };
                   // at mod period, at >= -low
                   auto modulo = [&](Value at, std::int64_t low, std::int64_t period) -> Value {
                     const std::int64_t lift = (low + period - 1) / period * period;
                     return arith::RemSIOp::create(b, loc, arith::AddIOp::create(b, loc, at, number(lift)),
                                                   number(period));
                   };
                   SmallVector<Value> at;
                   for (std::int64_t i = 0; i < to.getRank(); ++i) {
                     const std::int64_t extent = from.getDimSize(i), low = op.getLow()[i];
                     Value index = linalg::IndexOp::create(b, loc, i);
                     if (low != 0 || op.getHigh()[i] != 0) {
                       index = arith::SubIOp::create(b, loc, index, number(low));
                       if (op.getMode() == ir::PadMode::Edge) {
                         index = arith::MaxSIOp::create(b, loc, index, number(0));
                         index = arith::MinSIOp::create(b, loc, index, number(extent - 1));
                       } else if (op.getMode() == ir::PadMode::Wrap) {
                         index = modulo(index, low, extent);
                       } else if (extent == 1) {
                         index = number(0);
                       } else {
                         const std::int64_t period = 2 * (extent - 1);
                         Value phase = modulo(index, low, period);
                         index = arith::MinSIOp::create(b, loc, phase,
                                                        arith::SubIOp::create(b, loc, number(period), phase));
                       }
                     }
                     at.push_back(index);
                   }
                   return tensor::ExtractOp::create(b, loc, input, at);
                 });
}

}  // namespace kiln::schedule
