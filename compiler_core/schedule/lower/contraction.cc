#include <limits>

#include "compiler_core/schedule/lower/lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// acc + a * b, floats or integers.
Value multiplyAdd(OpBuilder& b, Location loc, ValueRange v) {
  if (isa<FloatType>(v[0].getType()))
    return arith::AddFOp::create(b, loc, v[2], arith::MulFOp::create(b, loc, v[0], v[1]));
  return arith::AddIOp::create(b, loc, v[2], arith::MulIOp::create(b, loc, v[0], v[1]));
}

}  // namespace

Value Lowering::matmul(ir::MatmulOp op) {
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
  Value zero = fill(scalar(type.getElementType(), 0), ir::shapeOf(cast<RankedTensorType>(op.getType())));
  return generic({get(op.getLhs()), get(op.getRhs())}, zero, {map(lhs), map(rhs), map(out)}, 1, multiplyAdd);
}

Value Lowering::pad(Value input, ArrayRef<std::int64_t> pads, double value) {
  if (llvm::all_of(pads, [](std::int64_t pad) { return pad == 0; })) return input;
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<std::int64_t> shape(type.getShape());
  shape[2] += pads[0] + pads[2];
  shape[3] += pads[1] + pads[3];
  nextGroup();
  Value padded = fill(scalar(type.getElementType(), value), type.clone(shape));
  padded = insert(input, padded, {0, 0, pads[0], pads[1]});
  nextGroup();
  return padded;
}

Value Lowering::convolution(ir::ConvOp op) {
  auto type = convert(op.getType());
  const Type element = type.getElementType();
  const std::int64_t groups = op.getGroup();
  Value input = pad(get(op.getInput()), op.getPads(), 0), filter = get(op.getFilter());
  auto in = cast<RankedTensorType>(input.getType());
  auto weights = cast<RankedTensorType>(filter.getType());
  // Loops: n, [g,] o, oh, ow, c, kh, kw. Groups appear as a dimension of their own.
  SmallVector<std::int64_t> shape = {type.getDimSize(0)};
  if (groups > 1) {
    shape.push_back(groups);
    input = reshape(
        input, {in.getDimSize(0), groups, in.getDimSize(1) / groups, in.getDimSize(2), in.getDimSize(3)});
    filter = reshape(filter, {groups, weights.getDimSize(0) / groups, weights.getDimSize(1),
                              weights.getDimSize(2), weights.getDimSize(3)});
  }
  shape.append({type.getDimSize(1) / groups, type.getDimSize(2), type.getDimSize(3)});
  const unsigned base = groups > 1 ? 2 : 1, loops = base + 6;
  auto d = [&](unsigned i) { return b_.getAffineDimExpr(i); };
  AffineExpr o = d(base), oh = d(base + 1), ow = d(base + 2), c = d(base + 3), kh = d(base + 4),
             kw = d(base + 5);
  SmallVector<AffineExpr> from = {d(0)}, with, to = {d(0)};
  if (groups > 1)
    for (auto* dims : {&from, &with, &to}) dims->push_back(d(1));
  from.append({c, oh * op.getStrides()[0] + kh * op.getDilations()[0],
               ow * op.getStrides()[1] + kw * op.getDilations()[1]});
  with.append({o, c, kh, kw});
  to.append({o, oh, ow});
  auto map = [&](ArrayRef<AffineExpr> dims) { return AffineMap::get(loops, 0, dims, b_.getContext()); };

  // The accumulators start from the bias.
  Value init;
  auto blocked = RankedTensorType::get(shape, element);
  if (op.getBias()) {
    Value bias = get(op.getBias());
    SmallVector<AffineExpr> channel;
    if (groups > 1) {
      bias = reshape(bias, {groups, type.getDimSize(1) / groups});
      channel.push_back(d(1));
    }
    channel.push_back(o);
    init = generic(bias, empty(shape, element),
                   {AffineMap::get(blocked.getRank(), 0, channel, b_.getContext()),
                    b_.getMultiDimIdentityMap(blocked.getRank())},
                   0, [](OpBuilder&, Location, ValueRange v) { return v[0]; });
  } else {
    init = fill(scalar(element, 0), blocked);
  }
  Value result = generic({input, filter}, init, {map(from), map(with), map(to)}, 3, multiplyAdd);
  return reshape(result, type.getShape());
}

Value Lowering::pool(ir::PoolOp op) {
  auto type = convert(op.getType());
  const Type element = type.getElementType();
  const bool max = op.getKind() == ir::PoolKind::Max;
  const double neutral = max ? -std::numeric_limits<double>::infinity() : 0;
  auto original = cast<RankedTensorType>(op.getInput().getType());
  Value input = pad(get(op.getInput()), op.getPads(), neutral);
  auto d = [&](unsigned i) { return b_.getAffineDimExpr(i); };
  auto map = [&](ArrayRef<AffineExpr> dims) { return AffineMap::get(6, 0, dims, b_.getContext()); };
  // Loops: n, c, oh, ow, kh, kw. The window operand only gives kh and kw their extents.
  Value window = empty(op.getKernel(), element);
  Value init = fill(scalar(element, neutral), type);
  const auto combine = max ? ir::BinaryKind::Max : ir::BinaryKind::Add;
  Value result = generic(
      {input, window}, init,
      {map({d(0), d(1), d(2) * op.getStrides()[0] + d(4) * op.getDilations()[0],
            d(3) * op.getStrides()[1] + d(5) * op.getDilations()[1]}),
       map({d(4), d(5)}), map({d(0), d(1), d(2), d(3)})},
      2, [&](OpBuilder& b, Location loc, ValueRange v) { return binaryScalar(b, loc, combine, v[2], v[0]); });
  if (max) return result;

  // The divisor is (rows inside the input) * (columns inside the input).
  auto counts = [&](unsigned axis) -> Value {
    SmallVector<double> values;
    for (std::int64_t i = 0; i < type.getDimSize(2 + axis); ++i) {
      std::int64_t inside = 0;
      for (std::int64_t k = 0; k < op.getKernel()[axis]; ++k) {
        const std::int64_t at = i * op.getStrides()[axis] + k * op.getDilations()[axis] - op.getPads()[axis];
        if (op.getCountPadding() || (at >= 0 && at < original.getDimSize(2 + axis))) ++inside;
      }
      values.push_back(static_cast<double>(inside));
    }
    auto vector = RankedTensorType::get({type.getDimSize(2 + axis)}, element);
    SmallVector<Attribute> attributes;
    for (double value : values) attributes.push_back(b_.getFloatAttr(element, value));
    return arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(vector, attributes));
  };
  const AffineMap all = b_.getMultiDimIdentityMap(4);
  return generic({result, counts(0), counts(1)}, empty(type.getShape(), element),
                 {all, AffineMap::get(4, 0, {d(2)}, b_.getContext()),
                  AffineMap::get(4, 0, {d(3)}, b_.getContext()), all},
                 0, [](OpBuilder& b, Location loc, ValueRange v) -> Value {
                   return arith::DivFOp::create(b, loc, v[0], arith::MulFOp::create(b, loc, v[1], v[2]));
                 });
}

}  // namespace kiln::schedule
