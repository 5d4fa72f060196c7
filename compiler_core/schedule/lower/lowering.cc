#include "compiler_core/schedule/lower/lowering.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace kiln::schedule {

using namespace mlir;

RankedTensorType Lowering::convert(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  return element.isInteger(1) ? tensor.clone(IntegerType::get(type.getContext(), 8)) : tensor;
}

Value Lowering::empty(ArrayRef<std::int64_t> shape, Type element) {
  return tensor::EmptyOp::create(b_, loc_, shape, element);
}

Value Lowering::scalar(Type element, double value) {
  return numberOf(b_, loc_, element, value);
}

Value Lowering::fill(Value scalar, RankedTensorType type) {
  auto op = linalg::FillOp::create(b_, loc_, scalar, empty(type.getShape(), type.getElementType()));
  op->setAttr(kGroupAttr, b_.getI64IntegerAttr(group_));
  return op.getResult(0);
}

Value Lowering::generic(ValueRange inputs, Value init, ArrayRef<AffineMap> maps, unsigned reductions,
                        Body body) {
  const unsigned loops = maps.front().getNumDims();
  SmallVector<utils::IteratorType> iterators(loops - reductions, utils::IteratorType::parallel);
  iterators.append(reductions, utils::IteratorType::reduction);
  auto op = linalg::GenericOp::create(b_, loc_, init.getType(), inputs, init, maps, iterators,
                                      [&](OpBuilder& inner, Location loc, ValueRange arguments) {
                                        linalg::YieldOp::create(inner, loc, body(inner, loc, arguments));
                                      });
  op->setAttr(kGroupAttr, b_.getI64IntegerAttr(group_));
  return op.getResult(0);
}

Value Lowering::pointwise(ValueRange inputs, RankedTensorType type, Body body) {
  const AffineMap identity = b_.getMultiDimIdentityMap(type.getRank());
  SmallVector<AffineMap> maps(inputs.size() + 1, identity);
  return generic(inputs, empty(type.getShape(), type.getElementType()), maps, 0, body);
}

AffineMap Lowering::dropping(unsigned rank, ArrayRef<std::int64_t> axes) {
  SmallVector<AffineExpr> kept;
  for (unsigned i = 0; i < rank; ++i)
    if (!llvm::is_contained(axes, std::int64_t(i))) kept.push_back(b_.getAffineDimExpr(i));
  return AffineMap::get(rank, 0, kept, b_.getContext());
}

Value Lowering::reshape(Value value, ArrayRef<std::int64_t> shape) {
  auto from = cast<RankedTensorType>(value.getType());
  auto to = RankedTensorType::get(shape, from.getElementType());
  if (from == to) return value;
  if (auto groups = getReassociationIndicesForReshape(from, to)) {
    if (from.getRank() > to.getRank())
      return b_.createOrFold<tensor::CollapseShapeOp>(loc_, to, value, *groups);
    return b_.createOrFold<tensor::ExpandShapeOp>(loc_, to, value, *groups);
  }
  // Through one dimension.
  auto flat = RankedTensorType::get({from.getNumElements()}, from.getElementType());
  auto all = [](unsigned rank) {
    SmallVector<ReassociationIndices> groups(1);
    for (unsigned i = 0; i < rank; ++i) groups[0].push_back(i);
    return groups;
  };
  if (from.getRank() != 1) {
    auto groups = all(from.getRank());
    if (from.getRank() == 0) groups.clear();
    value = from.getRank() == 0 ? Value(tensor::ExpandShapeOp::create(b_, loc_, flat, value, groups))
                                : Value(tensor::CollapseShapeOp::create(b_, loc_, flat, value, groups));
  }
  if (to.getRank() == 1) return value;
  auto groups = all(to.getRank());
  if (to.getRank() == 0)
    return tensor::CollapseShapeOp::create(b_, loc_, to, value, SmallVector<ReassociationIndices>());
  return tensor::ExpandShapeOp::create(b_, loc_, to, value, groups);
}

Value Lowering::insert(Value source, Value destination, ArrayRef<std::int64_t> offsets) {
  auto type = cast<RankedTensorType>(source.getType());
  SmallVector<OpFoldResult> at, sizes, strides(type.getRank(), b_.getIndexAttr(1));
  for (auto [offset, size] : llvm::zip_equal(offsets, type.getShape())) {
    at.push_back(b_.getIndexAttr(offset));
    sizes.push_back(b_.getIndexAttr(size));
  }
  Value slice = tensor::ExtractSliceOp::create(b_, loc_, destination, at, sizes, strides);
  const AffineMap identity = b_.getMultiDimIdentityMap(type.getRank());
  nextGroup();
  Value copy = generic(source, slice, {identity, identity}, 0,
                       [](OpBuilder&, Location, ValueRange values) { return values[0]; });
  return tensor::InsertSliceOp::create(b_, loc_, copy, destination, at, sizes, strides);
}

LogicalResult Lowering::lower(Operation* op) {
  loc_ = op->getLoc();
  if (isa<ir::SortOp, ir::ArgReduceOp, ir::CumulativeOp, ir::ScatterOp, ir::CompressOp, ir::UniqueOp,
          ir::NmsOp>(op))
    return library(op);
  auto operands = [&] {
    SmallVector<Value> values;
    for (Value operand : op->getOperands()) values.push_back(get(operand));
    return values;
  };
  auto type = [&] { return convert(op->getResult(0).getType()); };
  Value result =
      llvm::TypeSwitch<Operation*, Value>(op)
          .Case([&](ir::ConstantOp o) { return constant(o); })
          .Case([&](ir::UnaryOp o) {
            return pointwise(operands(), type(), [&](OpBuilder& b, Location loc, ValueRange v) {
              return unaryScalar(b, loc, o.getKind(), v[0]);
            });
          })
          .Case([&](ir::BinaryOp o) {
            return pointwise(operands(), type(), [&](OpBuilder& b, Location loc, ValueRange v) {
              return binaryScalar(b, loc, o.getKind(), v[0], v[1]);
            });
          })
          .Case([&](ir::CompareOp o) {
            return pointwise(operands(), type(), [&](OpBuilder& b, Location loc, ValueRange v) {
              return compareScalar(b, loc, o.getKind(), v[0], v[1]);
            });
          })
          .Case([&](ir::SelectOp) {
            return pointwise(operands(), type(), [&](OpBuilder& b, Location loc, ValueRange v) -> Value {
              Value bit = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, v[0],
                                                numberOf(b, loc, v[0].getType(), 0));
              return arith::SelectOp::create(b, loc, bit, v[1], v[2]);
            });
          })
          .Case([&](ir::CastOp o) {
            const Type from = cast<RankedTensorType>(o.getInput().getType()).getElementType();
            const Type to = cast<RankedTensorType>(o.getType()).getElementType();
            return pointwise(operands(), type(), [&](OpBuilder& b, Location loc, ValueRange v) {
              return castScalar(b, loc, v[0], from, to);
            });
          })
          .Case([&](ir::BroadcastOp o) { return broadcast(o); })
          .Case([&](ir::ReshapeOp) { return reshape(operands()[0], type().getShape()); })
          .Case([&](ir::TransposeOp o) { return transpose(get(o.getInput()), o.getPermutation()); })
          .Case([&](ir::ConcatOp o) { return concat(o); })
          .Case([&](ir::SliceOp o) { return slice(o); })
          .Case([&](ir::GatherOp o) { return gather(o); })
          .Case([&](ir::ReduceOp o) { return reduce(o.getKind(), get(o.getInput()), o.getAxes()); })
          .Case([&](ir::SoftmaxOp o) { return softmax(o); })
          .Case([&](ir::MatmulOp o) { return matmul(o); })
          .Case([&](ir::ConvOp o) { return convolution(o); })
          .Case([&](ir::PoolOp o) { return pool(o); })
          .Case([&](ir::BatchNormOp o) { return batchNorm(o); })
          .Default([](Operation*) { return Value(); });
  if (!result) return op->emitError("this target has no lowering for the operation");
  map_.map(op->getResult(0), result);
  return success();
}

}  // namespace kiln::schedule
