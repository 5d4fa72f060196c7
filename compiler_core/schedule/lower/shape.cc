#include "compiler_core/schedule/lower/lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace kiln::schedule {

using namespace mlir;

Value Lowering::constant(ir::ConstantOp op) {
  auto type = convert(op.getType());
  if (type.getNumElements() == 0) return empty(type.getShape(), type.getElementType());
  auto value = cast<DenseElementsAttr>(op.getValue());
  const Type element = value.getElementType(), storage = type.getElementType();
  if (element != storage) {
    const bool isSigned = element.isSignlessInteger() && !element.isInteger(1);
    auto stored = [&](const APInt& bits) {
      return isSigned ? bits.sext(storage.getIntOrFloatBitWidth())
                      : bits.zext(storage.getIntOrFloatBitWidth());
    };
    auto code = [&](const APFloat& number) { return stored(number.bitcastToAPInt()); };
    value = isa<FloatType>(element) ? DenseElementsAttr(value.mapValues(storage, code))
                                    : DenseElementsAttr(value.mapValues(storage, stored));
  }
  // A splat stays one scalar; only small payloads become data of the program.
  if (value.isSplat())
    return fill(arith::ConstantOp::create(b_, loc_, value.getSplatValue<TypedAttr>()), type);
  return arith::ConstantOp::create(b_, loc_, value);
}

namespace {

// Dimensions of a result [to] along which an operand [shape] runs, where the operand has the dimensions that
// a broadcast from [from] keeps and any others of extent 1 are left out; nullopt if it has not.
std::optional<SmallVector<unsigned>> keptDims(ArrayRef<ir::Dim> shape, ArrayRef<ir::Dim> from,
                                              ArrayRef<ir::Dim> to) {
  const std::size_t missing = to.size() - from.size();
  SmallVector<unsigned> dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!(from[i] == to[i + missing])) continue;
    if (dims.size() < shape.size() && shape[dims.size()] == from[i])
      dims.push_back(static_cast<unsigned>(i + missing));
    else if (!(from[i] == ir::Dim(1)))
      return std::nullopt;
  }
  if (dims.size() != shape.size()) return std::nullopt;
  return dims;
}

}  // namespace

Value Lowering::broadcast(ir::BroadcastOp op) {
  const ir::Shape from = shapeOf(get(op.getInput())), to = ir::shapeOf(cast<RankedTensorType>(op.getType()));
  const std::size_t missing = to.size() - from.size();
  Value input = get(op.getInput());
  std::optional<SmallVector<unsigned>> dims;
  // What only got dimensions of 1 is read as it was: a view would part it from the kernel that makes it.
  if (auto view = input.getDefiningOp<tensor::ExpandShapeOp>())
    if ((dims = keptDims(shapeOf(view.getSrc()), from, to))) input = view.getSrc();
  if (!dims) {
    ir::Shape kept;
    dims.emplace();
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (!(from[i] == to[i + missing])) continue;
      kept.push_back(from[i]);
      dims->push_back(static_cast<unsigned>(i + missing));
    }
    input = reshape(input, kept);
  }
  const auto rank = static_cast<unsigned>(to.size());
  const auto along = llvm::map_to_vector(*dims, [&](unsigned dim) { return b_.getAffineDimExpr(dim); });
  return generic(input, empty(to, getElementTypeOrSelf(input.getType())),
                 {AffineMap::get(rank, 0, along, b_.getContext()), b_.getMultiDimIdentityMap(rank)}, 0,
                 [](OpBuilder&, Location, ValueRange values) { return values[0]; });
}

Value Lowering::transpose(Value input, ArrayRef<std::int64_t> permutation) {
  const ir::Shape from = shapeOf(input);
  ir::Shape shape(from.size());
  SmallVector<AffineExpr> dims(from.size());
  for (auto [to, dim] : llvm::enumerate(permutation)) {
    shape[to] = from[dim];
    dims[dim] = b_.getAffineDimExpr(to);
  }
  const auto rank = static_cast<unsigned>(from.size());
  return generic(input, empty(shape, getElementTypeOrSelf(input.getType())),
                 {AffineMap::get(rank, 0, dims, b_.getContext()), b_.getMultiDimIdentityMap(rank)}, 0,
                 [](OpBuilder&, Location, ValueRange values) { return values[0]; });
}

// A part that nothing else uses is made in its place: it is inserted right behind what makes it, so that its
// buffer can be a piece of the result's. The others are copied.
Value Lowering::concat(ir::ConcatOp op) {
  const ir::Shape shape = ir::shapeOf(cast<RankedTensorType>(op.getType()));
  const auto axis = static_cast<std::size_t>(op.getAxis());
  struct Part {
    Value value;
    ir::Dim offset;
  };
  SmallVector<Part> inPlace, copied;
  ir::Dim next = 0;
  for (Value input : op.getInputs()) {
    Value value = get(input);
    const bool fresh = ir::isStatic(shape) && input.hasOneUse() && value.use_empty() &&
                       value.getDefiningOp<linalg::GenericOp>();
    (fresh ? inPlace : copied).push_back({value, next});
    next = next + shapeOf(value)[axis];
  }
  llvm::sort(inPlace, [](const Part& a, const Part& b) {
    return a.value.getDefiningOp()->isBeforeInBlock(b.value.getDefiningOp());
  });
  ir::Shape offsets(shape.size());
  Value result;
  {
    OpBuilder::InsertionGuard guard(b_);
    if (!inPlace.empty()) b_.setInsertionPointToStart(b_.getInsertionBlock());
    result = empty(shape, convert(op.getType()).getElementType());
    for (const Part& part : inPlace) {
      b_.setInsertionPointAfterValue(part.value);
      offsets[axis] = part.offset;
      result = tensor::InsertSliceOp::create(b_, loc_, part.value, result, sizes(offsets),
                                             sizes(shapeOf(part.value)),
                                             SmallVector<OpFoldResult>(shape.size(), b_.getIndexAttr(1)));
    }
  }
  for (const Part& part : copied) {
    offsets[axis] = part.offset;
    result = insert(part.value, result, offsets);
  }
  return result;
}

Value Lowering::slice(ir::SliceOp op) {
  const ir::Shape shape = ir::shapeOf(cast<RankedTensorType>(op.getType()));
  ir::Shape from = ir::toShape(op.getOffsets());
  if (auto symbolic = op.getSymbolicOffsets())
    for (auto [dim, expression] : llvm::zip_equal(from, symbolic->getResults())) dim = ir::Dim(expression);
  Value input = get(op.getInput());
  const SmallVector<OpFoldResult> offsets = sizes(from);
  if (llvm::all_of(op.getStrides(), [](std::int64_t stride) { return stride > 0; })) {
    SmallVector<OpFoldResult> strides;
    for (const std::int64_t stride : op.getStrides()) strides.push_back(b_.getIndexAttr(stride));
    return tensor::ExtractSliceOp::create(b_, loc_, input, offsets, sizes(shape), strides);
  }
  // Backwards: a view cannot say it, a loop can.
  const auto rank = static_cast<unsigned>(shape.size());
  return generic(
      {}, empty(shape, getElementTypeOrSelf(input.getType())), {b_.getMultiDimIdentityMap(rank)}, 0,
      [&](OpBuilder& b, Location loc, ValueRange) -> Value {
        SmallVector<Value> at;
        for (unsigned i = 0; i < rank; ++i) {
          Value index = linalg::IndexOp::create(b, loc, i);
          Value stride = arith::ConstantIndexOp::create(b, loc, op.getStrides()[i]);
          Value offset = getValueOrCreateConstantIndexOp(b, loc, offsets[i]);
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
  const OpFoldResult extent = size(shapeOf(input)[axis]);
  SmallVector<AffineExpr> indexDims;
  for (std::int64_t i = 0; i < indexRank; ++i) indexDims.push_back(b_.getAffineDimExpr(axis + i));
  return generic(
      get(op.getIndices()), empty(ir::shapeOf(cast<RankedTensorType>(op.getType())), type.getElementType()),
      {AffineMap::get(type.getRank(), 0, indexDims, b_.getContext()),
       b_.getMultiDimIdentityMap(type.getRank())},
      0, [&](OpBuilder& b, Location loc, ValueRange values) -> Value {
        auto number = [&](std::int64_t value) {
          return arith::ConstantIndexOp::create(b, loc, value).getResult();
        };
        Value count = getValueOrCreateConstantIndexOp(b, loc, extent);
        Value index = arith::IndexCastOp::create(b, loc, b.getIndexType(), values[0]);
        Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index, number(0));
        index = arith::SelectOp::create(b, loc, negative, arith::AddIOp::create(b, loc, index, count), index);
        index = arith::MaxSIOp::create(b, loc, index, number(0));
        index = arith::MinSIOp::create(b, loc, index, arith::SubIOp::create(b, loc, count, number(1)));
        SmallVector<Value> at;
        for (std::int64_t i = 0; i < type.getRank(); ++i) {
          if (i == axis) at.push_back(index);
          if (i < axis || i >= axis + indexRank) at.push_back(linalg::IndexOp::create(b, loc, i));
        }
        if (axis == type.getRank()) at.push_back(index);
        return tensor::ExtractOp::create(b, loc, input, at);
      });
}

Value Lowering::shapeValue(ir::ShapeValueOp op) {
  SmallVector<Value> elements;
  for (AffineExpr expression : op.getValues().getResults()) {
    Value index = getValueOrCreateConstantIndexOp(b_, loc_, size(ir::Dim(expression)));
    elements.push_back(arith::IndexCastOp::create(b_, loc_, b_.getI64Type(), index));
  }
  return tensor::FromElementsOp::create(b_, loc_, convert(op.getType()), elements);
}

Value Lowering::truncate(ir::TruncateOp op) {
  Value input = get(op.getInput());
  const ir::Shape shape = ir::shapeOf(cast<RankedTensorType>(op.getType()));
  const auto symbol = static_cast<unsigned>(op.getSymbol());
  if (!symbols_.contains(symbol)) {
    Value count = tensor::ExtractOp::create(b_, loc_, get(op.getCount()), ValueRange{});
    count = arith::IndexCastOp::create(b_, loc_, b_.getIndexType(), count);
    Value most = getValueOrCreateConstantIndexOp(b_, loc_, size(shapeOf(input)[op.getAxis()]));
    count = arith::MinSIOp::create(b_, loc_, count, most);
    defineSymbol(symbol,
                 arith::MaxSIOp::create(b_, loc_, count, arith::ConstantIndexOp::create(b_, loc_, 0)));
  }
  const SmallVector<OpFoldResult> offsets(shape.size(), b_.getIndexAttr(0)),
      strides(shape.size(), b_.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b_, loc_, input, offsets, sizes(shape), strides);
}

Value Lowering::iota(ir::IotaOp op) {
  const auto given = cast<RankedTensorType>(op.getType());
  return generic({}, empty(ir::shapeOf(given), storageOf(given.getElementType())),
                 {b_.getMultiDimIdentityMap(given.getRank())}, 0,
                 [&](OpBuilder& b, Location loc, ValueRange) -> Value {
                   Value index = linalg::IndexOp::create(b, loc, op.getAxis());
                   Value number = arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
                   return castScalar(b, loc, number, b.getI64Type(), given.getElementType());
                 });
}

Value Lowering::pad(ir::PadOp op) {
  Value input = get(op.getInput());
  const ir::Shape from = shapeOf(input), to = ir::shapeOf(cast<RankedTensorType>(op.getType()));
  const Type element = getElementTypeOrSelf(input.getType());
  const auto rank = static_cast<unsigned>(to.size());
  const AffineMap identity = b_.getMultiDimIdentityMap(rank);
  if (op.getMode() == ir::PadMode::Constant) {
    SmallVector<std::int64_t> steps;
    for (const std::int64_t interior : op.getInterior()) steps.push_back(interior + 1);
    Value around =
        generic(get(op.getValue()), empty(to, element), {AffineMap::get(rank, 0, b_.getContext()), identity},
                0, [](OpBuilder&, Location, ValueRange v) { return v[0]; });
    return insert(input, around, op.getLow(), steps);
  }
  // The others read the position that each result repeats.
  const SmallVector<OpFoldResult> extents = sizes(from);
  return generic({}, empty(to, element), {identity}, 0, [&](OpBuilder& b, Location loc, ValueRange) -> Value {
    auto number = [&](std::int64_t value) {
      return arith::ConstantIndexOp::create(b, loc, value).getResult();
    };
    // Remainder with the sign of the period.
    auto modulo = [&](Value at, Value period) -> Value {
      Value rest = arith::RemSIOp::create(b, loc, at, period);
      Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, rest, number(0));
      return arith::SelectOp::create(b, loc, negative, arith::AddIOp::create(b, loc, rest, period), rest);
    };
    SmallVector<Value> at;
    for (unsigned i = 0; i < rank; ++i) {
      Value index = linalg::IndexOp::create(b, loc, i);
      if (op.getLow()[i] != 0 || op.getHigh()[i] != 0) {
        Value extent = getValueOrCreateConstantIndexOp(b, loc, extents[i]);
        Value last = arith::SubIOp::create(b, loc, extent, number(1));
        index = arith::SubIOp::create(b, loc, index, number(op.getLow()[i]));
        if (op.getMode() == ir::PadMode::Edge) {
          index = arith::MaxSIOp::create(b, loc, index, number(0));
          index = arith::MinSIOp::create(b, loc, index, last);
        } else if (op.getMode() == ir::PadMode::Wrap) {
          index = modulo(index, extent);
        } else {
          // A single element has no period of its own.
          Value period =
              arith::MaxSIOp::create(b, loc, arith::MulIOp::create(b, loc, last, number(2)), number(1));
          Value phase = modulo(index, period);
          index = arith::MinSIOp::create(b, loc, phase, arith::SubIOp::create(b, loc, period, phase));
          index = arith::MinSIOp::create(b, loc, index, last);
        }
      }
      at.push_back(index);
    }
    return tensor::ExtractOp::create(b, loc, input, at);
  });
}

}  // namespace kiln::schedule
