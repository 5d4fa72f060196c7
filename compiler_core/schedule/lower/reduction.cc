#include <limits>

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/partial_sums.h"
#include "compiler_core/schedule/lower/lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace kiln::schedule {

using namespace mlir;

Value Lowering::reduce(ir::ReduceKind kind, Value input, ArrayRef<std::int64_t> axes) {
  const ir::Shape from = shapeOf(input);
  const auto rank = static_cast<std::int64_t>(from.size());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr std::pair<ir::BinaryKind, double> kRules[] = {{ir::BinaryKind::Add, 0},
                                                                 {ir::BinaryKind::Max, -kInfinity},
                                                                 {ir::BinaryKind::Min, kInfinity},
                                                                 {ir::BinaryKind::Mul, 1}};
  const auto [combine, neutral] = kRules[static_cast<unsigned>(kind)];
  // Loops: the kept dimensions, then the reduced ones in row-major order.
  ir::Shape shape;
  SmallVector<AffineExpr> kept, dims(from.size());
  unsigned next = 0;
  for (std::int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(axes, i)) {
      shape.push_back(from[i]);
      kept.push_back(dims[i] = b_.getAffineDimExpr(next++));
    }
  for (std::int64_t axis : axes) dims[axis] = b_.getAffineDimExpr(next++);
  Value init = fill(scalar(getElementTypeOrSelf(input.getType()), neutral), shape);
  const auto loops = static_cast<unsigned>(rank);
  Value result = generic(
      input, init,
      {AffineMap::get(loops, 0, dims, b_.getContext()), AffineMap::get(loops, 0, kept, b_.getContext())},
      axes.size(), [&](OpBuilder& b, Location loc, ValueRange values) {
        return binaryScalar(b, loc, combine, values[1], values[0]);
      });
  if (kind == ir::ReduceKind::Sum && isa<FloatType>(getElementTypeOrSelf(input.getType())) &&
      llvm::is_contained(axes, rank - 1))
    ir::PartialsAttr::set(result.getDefiningOp(), b_.getUnitAttr());
  return result;
}

Value Lowering::softmax(ir::SoftmaxOp op) {
  Value input = get(op.getInput());
  auto type = cast<RankedTensorType>(input.getType());
  const std::int64_t axis = op.getAxis();
  const AffineMap all = b_.getMultiDimIdentityMap(type.getRank()), row = dropping(type.getRank(), axis);
  Value target = empty(shapeOf(input), type.getElementType());
  Value most = reduce(ir::ReduceKind::Max, input, axis);
  Value power = generic({input, most}, target, {all, row, all}, 0,
                        [](OpBuilder& b, Location loc, ValueRange v) -> Value {
                          return math::ExpOp::create(b, loc, arith::SubFOp::create(b, loc, v[0], v[1]));
                        });
  // One division per row. The sum is at least 1.
  Value sum = reduce(ir::ReduceKind::Sum, power, axis);
  const ir::Shape rows = shapeOf(sum);
  const AffineMap each = b_.getMultiDimIdentityMap(static_cast<unsigned>(rows.size()));
  Value share = generic(sum, empty(rows, type.getElementType()), {each, each}, 0,
                        [](OpBuilder& b, Location loc, ValueRange v) -> Value {
                          return arith::DivFOp::create(b, loc, numberOf(b, loc, v[0].getType(), 1), v[0]);
                        });
  return generic({power, share}, target, {all, row, all}, 0,
                 [](OpBuilder& b, Location loc, ValueRange v) -> Value {
                   return arith::MulFOp::create(b, loc, v[0], v[1]);
                 });
}

Value Lowering::batchNorm(ir::BatchNormOp op) {
  Value input = get(op.getInput());
  auto type = cast<RankedTensorType>(input.getType());
  const AffineMap all = b_.getMultiDimIdentityMap(type.getRank());
  const AffineMap channel = AffineMap::get(type.getRank(), 0, {b_.getAffineDimExpr(1)}, b_.getContext());
  const double epsilon = op.getEpsilon().convertToDouble();
  return generic(
      {input, get(op.getScale()), get(op.getOffset()), get(op.getMean()), get(op.getVariance())},
      empty(shapeOf(input), type.getElementType()), {all, channel, channel, channel, channel, all}, 0,
      [&](OpBuilder& b, Location loc, ValueRange v) -> Value {
        Value variance = arith::AddFOp::create(b, loc, v[4], numberOf(b, loc, v[4].getType(), epsilon));
        Value centred = arith::SubFOp::create(b, loc, v[0], v[3]);
        Value unit = arith::DivFOp::create(b, loc, centred, math::SqrtOp::create(b, loc, variance));
        return arith::AddFOp::create(b, loc, arith::MulFOp::create(b, loc, unit, v[1]), v[2]);
      });
}

}  // namespace kiln::schedule
