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
SmallVector<std::int64_t> withRows(ArrayRef<std::int64_t> shape) {
  SmallVector<std::int64_t> result(shape);
  if (result.size() == 3) result.insert(result.begin() + 2, 1);
  return result;
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
  Value zero = fill(scalar(type.getElementType(), 0), type);
  return generic({get(op.getLhs()), get(op.getRhs())}, zero, {map(lhs), map(rhs), map(out)}, 1, multiplyAdd);
}

Value Lowering::surround(Value input, ArrayRef<std::int64_t> pads, double value) {
  if (llvm::all_of(pads, [](std::int64_t pad) { return pad == 0; })) return input;
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<std::int64_t> shape(type.getShape()), offsets = {0, 0};
  const std::size_t rank = pads.size() / 2;
  for (std::size_t i = 0; i < rank; ++i) {
    shape[2 + i] += pads[i] + pads[rank + i];
    offsets.push_back(pads[i]);
  }
  nextGroup();
  Value padded = fill(scalar(type.getElementType(), value), type.clone(shape));
  padded = insert(input, padded, offsets);
  nextGroup();
  return padded;
}

Value Lowering::convolution(ir::ConvOp op) {
  auto type = convert(op.getType());
  const Type element = type.getElementType();
  const std::int64_t groups = op.getGroup();
  const Window window(op.getStrides(), op.getDilations(), op.getPads());
  const unsigned rank = window.rank();
  auto shaped = [&](Value value) {
    return reshape(value, withRows(cast<RankedTensorType>(value.getType()).getShape()));
  };
  Value input = surround(shaped(get(op.getInput())), window.pads, 0), filter = shaped(get(op.getFilter()));
  const SmallVector<std::int64_t> out = withRows(type.getShape());
  // Groups appear as a dimension of their own: `count` channels as [groups, count / groups].
  auto split = [&](Value value, unsigned dim) {
    if (groups == 1) return value;
    SmallVector<std::int64_t> shape(cast<RankedTensorType>(value.getType()).getShape());
    shape[dim] /= groups;
    shape.insert(shape.begin() + dim, groups);
    return reshape(value, shape);
  };
  input = split(input, 1);
  filter = split(filter, 0);
  // Loops: n, [g,] o, output positions, c, kernel positions.
  const unsigned base = groups > 1 ? 2 : 1, loops = base + 2 + 2 * rank;
  auto d = [&](unsigned i) { return b_.getAffineDimExpr(i); };
  const unsigned channel = base + 1 + rank;
  SmallVector<std::int64_t> shape = {out[0]};
  SmallVector<AffineExpr> from = {d(0)}, with, to = {d(0)};
  if (groups > 1) {
    shape.push_back(groups);
    for (auto* dims : {&from, &with, &to}) dims->push_back(d(1));
  }
  shape.push_back(out[1] / groups);
  from.push_back(d(channel));
  with.append({d(base), d(channel)});
  to.push_back(d(base));
  for (unsigned i = 0; i < rank; ++i) {
    shape.push_back(out[2 + i]);
    from.push_back(d(base + 1 + i) * window.strides[i] + d(channel + 1 + i) * window.dilations[i]);
    with.push_back(d(channel + 1 + i));
    to.push_back(d(base + 1 + i));
  }
  auto map = [&](ArrayRef<AffineExpr> dims) { return AffineMap::get(loops, 0, dims, b_.getContext()); };

  // The accumulators start from the bias.
  Value init;
  auto blocked = RankedTensorType::get(shape, element);
  if (op.getBias()) {
    Value bias = split(get(op.getBias()), 0);
    SmallVector<AffineExpr> channels;
    for (unsigned i = 1; i <= base; ++i) channels.push_back(d(i));
    init = generic(bias, empty(shape, element),
                   {AffineMap::get(blocked.getRank(), 0, channels, b_.getContext()),
                    b_.getMultiDimIdentityMap(blocked.getRank())},
                   0, [](OpBuilder&, Location, ValueRange v) { return v[0]; });
  } else {
    init = fill(scalar(element, 0), blocked);
  }
  Value result = generic({input, filter}, init, {map(from), map(with), map(to)}, 1 + rank, multiplyAdd);
  return reshape(result, type.getShape());
}

Value Lowering::pool(ir::PoolOp op) {
  auto type = convert(op.getType());
  const Type element = type.getElementType();
  const bool max = op.getKind() == ir::PoolKind::Max;
  const double neutral = max ? -std::numeric_limits<double>::infinity() : 0;
  const Window window(op.getStrides(), op.getDilations(), op.getPads());
  const unsigned rank = window.rank();
  SmallVector<std::int64_t> kernel(op.getKernel());
  if (kernel.size() == 1) kernel.insert(kernel.begin(), 1);
  const SmallVector<std::int64_t> given =
      withRows(cast<RankedTensorType>(op.getInput().getType()).getShape());
  Value input = surround(reshape(get(op.getInput()), given), window.pads, neutral);
  const auto out = RankedTensorType::get(withRows(type.getShape()), element);
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
  if (op.getKind() != ir::PoolKind::Average) return reshape(result, type.getShape());

  // The divisor is the product of the positions inside the input along each dimension.
  auto counts = [&](unsigned axis) -> Value {
    SmallVector<Attribute> values;
    for (std::int64_t i = 0; i < out.getDimSize(2 + axis); ++i) {
      std::int64_t inside = 0;
      for (std::int64_t k = 0; k < kernel[axis]; ++k) {
        const std::int64_t at = i * window.strides[axis] + k * window.dilations[axis] - window.pads[axis];
        if (op.getCountPadding() || (at >= 0 && at < given[2 + axis])) ++inside;
      }
      values.push_back(b_.getFloatAttr(element, static_cast<double>(inside)));
    }
    auto vector = RankedTensorType::get({out.getDimSize(2 + axis)}, element);
    return arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(vector, values));
  };
  const AffineMap all = b_.getMultiDimIdentityMap(out.getRank());
  SmallVector<Value> operands = {result};
  SmallVector<AffineMap> maps = {all};
  for (unsigned axis = 0; axis < rank; ++axis) {
    operands.push_back(counts(axis));
    maps.push_back(AffineMap::get(out.getRank(), 0, {d(2 + axis)}, b_.getContext()));
  }
  maps.push_back(all);
  result = generic(operands, empty(out.getShape(), element), maps, 0,
                   [](OpBuilder& b, Location loc, ValueRange v) -> Value {
                     Value count = v[1];
                     for (Value more : v.drop_front(2).drop_back(1))
                       count = arith::MulFOp::create(b, loc, count, more);
                     return arith::DivFOp::create(b, loc, v[0], count);
                   });
  return reshape(result, type.getShape());
}

}  // namespace kiln::schedule
