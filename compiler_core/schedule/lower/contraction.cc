#include <limits>

#include "compiler_core/ir/byte_windows.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/schedule/lower/lowering.h"
#include "compiler_core/schedule/lower/packed.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// A sliding window's numbers per spatial dimension. One dimension runs as two of which the first has extent
// 1: schedules then see rows and columns.
struct Window {
  SmallVector<std::int64_t> strides, dilations, pads;  // pads: all beginnings, then all ends

  Window(ArrayRef<std::int64_t> strides, ArrayRef<std::int64_t> dilations, ArrayRef<std::int64_t> pads)
      : strides(strides), dilations(dilations), pads(pads) {
    if (strides.size() > 1) return;
    this->strides = {1, strides[0]};
    this->dilations = {1, dilations[0]};
    this->pads = {0, pads[0], 0, pads[1]};
  }
  unsigned rank() const { return strides.size(); }
};

// [N, C, L] as [N, C, 1, L]; more dimensions stay.
ir::Shape withRows(ir::Shape shape) {
  if (shape.size() == 3) shape.insert(shape.begin() + 2, ir::Dim(1));
  return shape;
}

}  // namespace

namespace {

// Out of and into kiln.fused.
Value acrossBorders(Value value) {
  for (;;) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (auto outer = argument ? dyn_cast<ir::FusedOp>(argument.getOwner()->getParentOp()) : nullptr)
      value = outer.getInputs()[argument.getArgNumber()];
    else if (auto inner = value.getDefiningOp<ir::FusedOp>())
      value = inner.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
    else
      return value;
  }
}

}  // namespace

std::optional<Lowering::Factor> Lowering::beforeCast(Value value, llvm::function_ref<bool(Type)> isWanted) {
  const ir::Shape shape = ir::shapeOf(ir::tensorType(value));
  value = acrossBorders(value);
  while (auto view = value.getDefiningOp<ir::ReshapeOp>()) value = acrossBorders(view.getInput());
  auto cast = value.getDefiningOp<ir::CastOp>();
  if (!cast) return std::nullopt;
  const Type element = ir::tensorType(cast.getInput()).getElementType();
  if (!isWanted(element)) return std::nullopt;
  Value codes = get(cast.getInput());
  auto weight = acrossBorders(cast.getInput()).getDefiningOp<ir::WeightOp>();
  return Factor{reshape(codes, shape), element, shapeOf(codes) == shape ? weight : ir::WeightOp()};
}

Lowering::Factor Lowering::factor(Value value) {
  const Factor plain{get(value), ir::tensorType(value).getElementType(), {}};
  if (!forDevice_ || !plain.element.isF32()) return plain;
  return beforeCast(value, [](Type type) { return type.isF16() || type.isBF16(); }).value_or(plain);
}

std::optional<Lowering::Factor> Lowering::narrowWeight(Value value) {
  if (forDevice_ || !ir::tensorType(value).getElementType().isF32()) return std::nullopt;
  auto narrow = beforeCast(value, [](Type type) { return type.isF16() || type.isBF16(); });
  return narrow && narrow->weight ? narrow : std::nullopt;
}

namespace {

// acc + a * b, floats or integers; the factors of these types.
auto multiplyAdd(Type left, Type right) {
  return [=](OpBuilder& b, Location loc, ValueRange v) -> Value {
    Value x = unpack(b, loc, v[0], left), y = unpack(b, loc, v[1], right);
    if (isa<FloatType>(x.getType()))
      return arith::AddFOp::create(b, loc, v[2], arith::MulFOp::create(b, loc, x, y));
    return arith::AddIOp::create(b, loc, v[2], arith::MulIOp::create(b, loc, x, y));
  };
}

}  // namespace

Value Lowering::matmul(ir::MatmulOp op) {
  if (auto packed = forDevice_ ? ir::DequantiseOp() : packedFactor(op)) return packedProduct(op, packed);
  auto type = convert(op.getType());
  const unsigned rank = type.getRank();
  // Loops: batch..., m, n, k.
  SmallVector<AffineExpr> lhs, rhs, out;
  for (unsigned i = 0; i + 2 < rank; ++i)
    for (auto* dims : {&lhs, &rhs, &out}) dims->push_back(b_.getAffineDimExpr(i));
  AffineExpr m = b_.getAffineDimExpr(rank - 2), n = b_.getAffineDimExpr(rank - 1),
             k = b_.getAffineDimExpr(rank);
  lhs.append({m, k});
  rhs.append({k, n});
  out.append({m, n});
  auto map = [&](ArrayRef<AffineExpr> dims) { return AffineMap::get(rank + 1, 0, dims, b_.getContext()); };
  const ir::Shape shape = ir::shapeOf(cast<RankedTensorType>(op.getType()));
  if (auto dot = dotFactors(op.getLhs(), op.getRhs());
      dot && ir::shapeOf(ir::tensorType(op.getLhs())).back().isStatic()) {
    Value left = packedDotOperand(dot->left, rank - 1, dot->steps),
          right = packedDotOperand(dot->right, rank - 2, dot->steps);
    return dotProduct(left, right, fill(scalar(type.getElementType(), 0), shape),
                      {map(lhs), map(rhs), map(out)}, 1, dot->kind);
  }
  Value zero = fill(scalar(type.getElementType(), 0), shape);
  const Factor left = factor(op.getLhs());
  Factor right = rank == 2 ? narrowWeight(op.getRhs()).value_or(factor(op.getRhs())) : factor(op.getRhs());
  if (right.weight && rank == 2 && forDevice_ && layOutWeight_) {
    // Tensor cores take neighbours along the sum.
    right.value = layOutWeight_(right.weight, {1, 0}, std::nullopt);
    std::swap(rhs[0], rhs[1]);
  }
  return generic({left.value, right.value}, zero, {map(lhs), map(rhs), map(out)}, 1,
                 multiplyAdd(left.element, right.element));
}

Value Lowering::surround(Value input, ArrayRef<std::int64_t> pads, double value) {
  if (llvm::all_of(pads, [](std::int64_t pad) { return pad == 0; })) return input;
  ir::Shape shape = shapeOf(input), offsets = {0, 0};
  const std::size_t rank = pads.size() / 2;
  for (std::size_t i = 0; i < rank; ++i) {
    shape[2 + i] = shape[2 + i] + ir::Dim(pads[i] + pads[rank + i]);
    offsets.push_back(pads[i]);
  }
  nextGroup();
  Value number = scalar(getElementTypeOrSelf(input.getType()), value), padded;
  if (forDevice_) {
    padded = fill(number, shape);
  } else {
    // Only what the input will not cover.
    padded = empty(shape, getElementTypeOrSelf(input.getType()));
    for (std::size_t i = 0; i < rank; ++i)
      for (const std::size_t end : {i, rank + i}) {
        if (pads[end] == 0) continue;
        ir::Shape slab = shape, from(shape.size(), 0);
        slab[2 + i] = pads[end];
        if (end != i) from[2 + i] = shape[2 + i] + ir::Dim(-pads[end]);
        padded = insert(fill(number, slab), padded, from);
      }
  }
  padded = insert(input, padded, offsets);
  nextGroup();
  return padded;
}

Value Lowering::convolution(ir::ConvOp op) {
  const Type element = convert(op.getType()).getElementType();
  const ir::Shape plain = ir::shapeOf(cast<RankedTensorType>(op.getType())), out = withRows(plain);
  // Where each channel has a filter of its own, channels need not be parted into groups.
  const bool depthwise = !forDevice_ && op.getGroup() > 1 && shapeOf(get(op.getFilter()))[1] == ir::Dim(1) &&
                         out[1] == ir::Dim(op.getGroup());
  const std::int64_t groups = depthwise ? 1 : op.getGroup();
  const Window window(op.getStrides(), op.getDilations(), op.getPads());
  const unsigned rank = window.rank();
  auto upright = [&](Value value) { return reshape(value, withRows(shapeOf(value))); };
  Factor image = factor(op.getInput()), weights = factor(op.getFilter());
  auto dot = op.getGroup() == 1 || (depthwise && ir::isRowWindow(op))
                 ? dotFactors(op.getInput(), op.getFilter())
                 : std::nullopt;
  if (dot && (depthwise ? dot->kind == kBf16ByBf16 : !shapeOf(image.value)[1].isStatic())) dot.reset();
  if (dot && depthwise) {
    image.value = dot->left.value;
    weights.value = packedDotOperand(dot->right, 2, dot->steps);
  } else if (dot) {
    // Channels that follow each other are steps of one packed operand.
    image.value = packedDotOperand(dot->left, 1, dot->steps);
    weights.value = packedDotOperand(dot->right, 1, dot->steps);
  }
  Value input = surround(upright(image.value), window.pads, 0), filter = upright(weights.value);
  if (dot && depthwise)
    input = packedRows(
        input, out[2],
        {ir::shapeOf(ir::tensorType(op.getFilter()))[2].value(), window.strides[0], window.dilations[0], 0});
  // Groups appear as a dimension of their own: `count` channels as [groups, count / groups].
  auto split = [&](Value value, unsigned dim) {
    if (groups == 1) return value;
    ir::Shape shape = shapeOf(value);
    shape[dim] = shape[dim].value() / groups;
    shape.insert(shape.begin() + dim, ir::Dim(groups));
    return reshape(value, shape);
  };
  input = split(input, 1);
  filter = split(filter, 0);
  if (depthwise) {
    ir::Shape shape = shapeOf(filter);
    shape.erase(shape.begin() + 1);
    filter = reshape(filter, shape);
  }
  // Loops: n, [g,] o, output positions, [c,] kernel positions.
  const unsigned base = groups > 1 ? 2 : 1, channel = base + 1 + rank, kernel = channel + (depthwise ? 0 : 1),
                 loops = kernel + rank;
  auto d = [&](unsigned i) { return b_.getAffineDimExpr(i); };
  ir::Shape shape = {out[0]};
  SmallVector<AffineExpr> from = {d(0)}, with, to = {d(0)};
  if (groups > 1) {
    shape.push_back(groups);
    for (auto* dims : {&from, &with, &to}) dims->push_back(d(1));
  }
  shape.push_back(out[1].value() / groups);
  from.push_back(d(depthwise ? base : channel));
  with.push_back(d(base));
  if (!depthwise) with.push_back(d(channel));
  to.push_back(d(base));
  for (unsigned i = 0; i < rank; ++i) {
    shape.push_back(out[2 + i]);
    from.push_back(dot && depthwise && i == 0
                       ? d(base + 1)  // a packed operand holds the window's rows
                       : d(base + 1 + i) * window.strides[i] + d(kernel + i) * window.dilations[i]);
    with.push_back(d(kernel + i));
    to.push_back(d(base + 1 + i));
  }
  auto map = [&](ArrayRef<AffineExpr> dims) { return AffineMap::get(loops, 0, dims, b_.getContext()); };

  // The accumulators start from the bias.
  Value init;
  const auto blocked = static_cast<unsigned>(shape.size());
  if (op.getBias()) {
    Value bias = split(get(op.getBias()), 0);
    SmallVector<AffineExpr> channels;
    for (unsigned i = 1; i <= base; ++i) channels.push_back(d(i));
    init =
        generic(bias, empty(shape, element),
                {AffineMap::get(blocked, 0, channels, b_.getContext()), b_.getMultiDimIdentityMap(blocked)},
                0, [](OpBuilder&, Location, ValueRange v) { return v[0]; });
  } else {
    init = fill(scalar(element, 0), shape);
  }
  const SmallVector<AffineMap> maps = {map(from), map(with), map(to)};
  Value result = dot ? dotProduct(input, filter, init, maps, loops - channel, dot->kind)
                     : generic({input, filter}, init, maps, loops - channel,
                               multiplyAdd(image.element, weights.element));
  return reshape(result, plain);
}

Value Lowering::insideCounts(const WindowAxis& axis, const ir::Dim& windows, const ir::Dim& extent,
                             Type element) {
  if (windows.isStatic() && extent.isStatic()) {
    SmallVector<Attribute> values;
    for (std::int64_t i = 0; i < windows.value(); ++i) {
      std::int64_t inside = 0;
      for (std::int64_t k = 0; k < axis.kernel; ++k) {
        const std::int64_t at = i * axis.stride + k * axis.dilation - axis.before;
        if (at >= 0 && at < extent.value()) ++inside;
      }
      values.push_back(b_.getFloatAttr(element, static_cast<double>(inside)));
    }
    return arith::ConstantOp::create(
        b_, loc_, DenseElementsAttr::get(RankedTensorType::get({windows.value()}, element), values));
  }
  const OpFoldResult size = this->size(extent);
  return generic({}, empty({windows}, element), {b_.getMultiDimIdentityMap(1)}, 0,
                 [&](OpBuilder& b, Location loc, ValueRange) -> Value {
                   auto number = [&](std::int64_t value) {
                     return arith::ConstantIndexOp::create(b, loc, value).getResult();
                   };
                   // Counts the kernel positions k with 0 <= start + k * dilation < extent.
                   Value start = arith::SubIOp::create(
                       b, loc,
                       arith::MulIOp::create(b, loc, linalg::IndexOp::create(b, loc, 0), number(axis.stride)),
                       number(axis.before));
                   auto below = [&](Value limit) -> Value {  // how many k have start + k * dilation < limit
                     Value room = arith::SubIOp::create(b, loc, limit, start);
                     Value count = arith::CeilDivSIOp::create(b, loc, room, number(axis.dilation));
                     count = arith::MaxSIOp::create(b, loc, count, number(0));
                     return arith::MinSIOp::create(b, loc, count, number(axis.kernel));
                   };
                   Value inside = arith::SubIOp::create(
                       b, loc, below(getValueOrCreateConstantIndexOp(b, loc, size)), below(number(0)));
                   Value whole = arith::IndexCastOp::create(b, loc, b.getI64Type(), inside);
                   return arith::SIToFPOp::create(b, loc, element, whole);
                 });
}

Value Lowering::pool(ir::PoolOp op) {
  const Type element = convert(op.getType()).getElementType();
  const ir::Shape plain = ir::shapeOf(cast<RankedTensorType>(op.getType())), out = withRows(plain);
  const bool max = op.getKind() == ir::PoolKind::Max;
  const double neutral = max ? -std::numeric_limits<double>::infinity() : 0;
  const Window window(op.getStrides(), op.getDilations(), op.getPads());
  const unsigned rank = window.rank();
  SmallVector<std::int64_t> kernel(op.getKernel());
  if (kernel.size() == 1) kernel.insert(kernel.begin(), 1);
  const ir::Shape given = withRows(shapeOf(get(op.getInput())));
  Value input = surround(reshape(get(op.getInput()), given), window.pads, neutral);
  auto d = [&](unsigned i) { return b_.getAffineDimExpr(i); };
  // Loops: n, c, output positions, kernel positions.
  SmallVector<AffineExpr> from = {d(0), d(1)}, taps, to = {d(0), d(1)};
  for (unsigned i = 0; i < rank; ++i) {
    from.push_back(d(2 + i) * window.strides[i] + d(2 + rank + i) * window.dilations[i]);
    taps.push_back(d(2 + rank + i));
    to.push_back(d(2 + i));
  }
  auto map = [&](ArrayRef<AffineExpr> dims) {
    return AffineMap::get(2 + 2 * rank, 0, dims, b_.getContext());
  };
  // This operand only gives the kernel's loops their extents.
  Value extents = empty(kernel, element);
  Value init = fill(scalar(element, neutral), out);
  const auto combine = max ? ir::BinaryKind::Max : ir::BinaryKind::Add;
  Value result = generic(
      {input, extents}, init, {map(from), map(taps), map(to)}, rank,
      [&](OpBuilder& b, Location loc, ValueRange v) { return binaryScalar(b, loc, combine, v[2], v[0]); });
  if (op.getKind() != ir::PoolKind::Average) return reshape(result, plain);

  const auto outRank = static_cast<unsigned>(out.size());
  const AffineMap all = b_.getMultiDimIdentityMap(outRank);
  SmallVector<Value> operands = {result};
  SmallVector<AffineMap> maps = {all};
  double taken = 1;
  for (unsigned axis = 0; axis < rank; ++axis) {
    taken *= static_cast<double>(kernel[axis]);
    if (op.getCountPadding()) continue;
    operands.push_back(
        insideCounts({kernel[axis], window.strides[axis], window.dilations[axis], window.pads[axis]},
                     out[2 + axis], given[2 + axis], element));
    maps.push_back(AffineMap::get(outRank, 0, {d(2 + axis)}, b_.getContext()));
  }
  maps.push_back(all);
  result =
      generic(operands, empty(out, element), maps, 0, [&](OpBuilder& b, Location loc, ValueRange v) -> Value {
        Value count = operands.size() > 1 ? v[1] : numberOf(b, loc, element, taken);
        for (unsigned i = 2; i < operands.size(); ++i) count = arith::MulFOp::create(b, loc, count, v[i]);
        return arith::DivFOp::create(b, loc, v[0], count);
      });
  return reshape(result, plain);
}

}  // namespace kiln::schedule
