#include "compiler_core/schedule/lower/lowering.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/profile.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace kiln::schedule {

using namespace mlir;

RankedTensorType Lowering::convert(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), storageOf(tensor.getElementType()));
}

void Lowering::map(Value from, Value to) {
  map_.map(from, shaped(to, ir::shapeOf(cast<RankedTensorType>(from.getType()))));
}

ir::Shape Lowering::shapeOf(Value lowered) const {
  if (auto found = shapes_.find(lowered); found != shapes_.end()) return found->second;
  return ir::toShape(cast<RankedTensorType>(lowered.getType()).getShape());
}

Value Lowering::shaped(Value lowered, ArrayRef<ir::Dim> shape) {
  if (!ir::isStatic(shape)) shapes_[lowered] = ir::Shape(shape);
  return lowered;
}

OpFoldResult Lowering::size(const ir::Dim& dim) {
  if (dim.isStatic()) return b_.getIndexAttr(dim.value());
  // The symbols that take part, renumbered.
  const AffineExpr expression = dim.expression(b_.getContext());
  SmallVector<OpFoldResult> operands;
  SmallVector<AffineExpr> renumbered;
  for (const unsigned symbol : ir::symbolsIn(expression)) {
    renumbered.resize(symbol + 1, b_.getAffineConstantExpr(0));
    renumbered.back() = b_.getAffineSymbolExpr(operands.size());
    operands.push_back(symbols_.at(symbol));
  }
  const AffineMap map = AffineMap::get(0, operands.size(), expression.replaceSymbols(renumbered));
  return affine::makeComposedFoldedAffineApply(b_, loc_, map, operands);
}

SmallVector<OpFoldResult> Lowering::sizes(ArrayRef<ir::Dim> shape) {
  return llvm::map_to_vector(shape, [&](const ir::Dim& dim) { return size(dim); });
}

Value Lowering::empty(const Extents& shape, Type element) {
  return shaped(tensor::EmptyOp::create(b_, loc_, sizes(*shape), element), *shape);
}

Value Lowering::scalar(Type element, double value) {
  return numberOf(b_, loc_, element, value);
}

void Lowering::mark(linalg::LinalgOp op) {
  ir::GroupAttr::set(op, b_.getI64IntegerAttr(group_));
  ir::Shape extents(op.getNumLoops());
  for (OpOperand& operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType())) continue;
    const ir::Shape shape = shapeOf(operand.get());
    for (auto [i, expression] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expression)) extents[loop.getPosition()] = shape[i];
  }
  if (!ir::isStatic(extents))
    ir::ExtentsAttr::set(op, AffineMapAttr::get(ir::symbolicMap(b_.getContext(), extents)));
}

Value Lowering::fill(Value scalar, const Extents& shape) {
  auto op = linalg::FillOp::create(b_, loc_, scalar, empty(shape, scalar.getType()));
  mark(op);
  return shaped(op.getResult(0), *shape);
}

Value Lowering::fill(Value scalar, RankedTensorType type) {
  return fill(scalar, type.getShape());
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
  mark(op);
  return shaped(op.getResult(0), shapeOf(init));
}

Value Lowering::pointwise(ValueRange inputs, RankedTensorType type, Body body) {
  const AffineMap identity = b_.getMultiDimIdentityMap(type.getRank());
  SmallVector<AffineMap> maps(inputs.size() + 1, identity);
  const ir::Shape shape = inputs.empty() ? ir::toShape(type.getShape()) : shapeOf(inputs[0]);
  return generic(inputs, empty(shape, type.getElementType()), maps, 0, body);
}

AffineMap Lowering::dropping(unsigned rank, ArrayRef<std::int64_t> axes) {
  SmallVector<AffineExpr> kept;
  for (unsigned i = 0; i < rank; ++i)
    if (!llvm::is_contained(axes, std::int64_t(i))) kept.push_back(b_.getAffineDimExpr(i));
  return AffineMap::get(rank, 0, kept, b_.getContext());
}

namespace {

// Neighbouring dimensions of `fine` whose product is one dimension of `coarse`; nullopt where a product
// cannot be shown to be equal.
std::optional<SmallVector<ReassociationIndices>> groupsOf(ArrayRef<ir::Dim> fine, ArrayRef<ir::Dim> coarse) {
  SmallVector<ReassociationIndices> groups;
  std::size_t next = 0;
  for (std::size_t i = 0; i < coarse.size(); ++i) {
    ReassociationIndices& group = groups.emplace_back();
    ir::Dim size = 1;
    while (next < fine.size() && (group.empty() || !(size == coarse[i]))) {
      size = size * fine[next];
      group.push_back(static_cast<std::int64_t>(next++));
    }
    if (group.empty() || !(size == coarse[i])) return std::nullopt;
  }
  for (; next < fine.size(); ++next) {
    if (groups.empty() || !(fine[next] == ir::Dim(1))) return std::nullopt;
    groups.back().push_back(static_cast<std::int64_t>(next));
  }
  return groups;
}

}  // namespace

Value Lowering::reshape(Value value, const Extents& to) {
  const ir::Shape from = shapeOf(value), shape = *to;
  if (from == shape) return value;
  const Type element = getElementTypeOrSelf(value.getType());
  auto type = [&](ArrayRef<ir::Dim> dims) { return convert(ir::tensorTypeOf(dims, element)); };
  auto collapse = [&](Value input, ArrayRef<ir::Dim> into, ArrayRef<ReassociationIndices> groups) {
    return shaped(b_.createOrFold<tensor::CollapseShapeOp>(loc_, type(into), input, groups), into);
  };
  auto expand = [&](Value input, ArrayRef<ir::Dim> into, ArrayRef<ReassociationIndices> groups) {
    return shaped(tensor::ExpandShapeOp::create(b_, loc_, type(into), input, groups, sizes(into)), into);
  };
  if (from.size() > shape.size())
    if (auto groups = groupsOf(from, shape)) return collapse(value, shape, *groups);
  if (from.size() < shape.size())
    if (auto groups = groupsOf(shape, from)) return expand(value, shape, *groups);
  // Through one dimension.
  auto all = [](std::size_t rank) {
    SmallVector<ReassociationIndices> groups(rank == 0 ? 0 : 1);
    for (std::size_t i = 0; i < rank; ++i) groups[0].push_back(static_cast<std::int64_t>(i));
    return groups;
  };
  const ir::Shape flat = {ir::product(from)};
  if (from.empty())
    value = expand(value, flat, {});
  else if (from.size() != 1)
    value = collapse(value, flat, all(from.size()));
  if (shape.size() == 1) return shaped(value, shape);
  return shape.empty() ? collapse(value, shape, {}) : expand(value, shape, all(shape.size()));
}

Value Lowering::insert(Value source, Value destination, const Extents& offsets,
                       ArrayRef<std::int64_t> steps) {
  const ir::Shape shape = shapeOf(source);
  const SmallVector<OpFoldResult> at = sizes(*offsets), extents = sizes(shape);
  SmallVector<OpFoldResult> strides(shape.size(), b_.getIndexAttr(1));
  for (auto [i, step] : llvm::enumerate(steps)) strides[i] = b_.getIndexAttr(step);
  Value slice = shaped(tensor::ExtractSliceOp::create(b_, loc_, destination, at, extents, strides), shape);
  const AffineMap identity = b_.getMultiDimIdentityMap(static_cast<unsigned>(shape.size()));
  nextGroup();
  Value copy = generic(source, slice, {identity, identity}, 0,
                       [](OpBuilder&, Location, ValueRange values) { return values[0]; });
  return shaped(tensor::InsertSliceOp::create(b_, loc_, copy, destination, at, extents, strides),
                shapeOf(destination));
}

LogicalResult Lowering::lower(Operation* op) {
  loc_ = op->getLoc();
  if (isa<ir::SortOp, ir::ArgReduceOp, ir::CumulativeOp, ir::ScatterOp, ir::CompressOp, ir::UniqueOp,
          ir::NmsOp>(op))
    return library(op);
  if (Value whole = lowerWhole_ ? lowerWhole_(op) : Value()) {
    map(op->getResult(0), whole);
    return success();
  }
  auto operands = [&] {
    SmallVector<Value> values;
    for (Value operand : op->getOperands()) values.push_back(get(operand));
    return values;
  };
  auto type = [&] { return convert(op->getResult(0).getType()); };
  // The element type of the first operand, for elementwise operations.
  auto element = [&] { return cast<RankedTensorType>(op->getOperand(0).getType()).getElementType(); };
  Value result =
      llvm::TypeSwitch<Operation*, Value>(op)
          .Case([&](ir::ConstantOp o) { return constant(o); })
          .Case([&](ir::UnaryOp o) {
            return pointwise(operands(), type(), [&](OpBuilder& b, Location loc, ValueRange v) {
              Value x = unpack(b, loc, v[0], element());
              return pack(b, loc, unaryScalar(b, loc, o.getKind(), x, element()), element());
            });
          })
          .Case([&](ir::BinaryOp o) {
            return pointwise(operands(), type(), [&](OpBuilder& b, Location loc, ValueRange v) {
              Value x = unpack(b, loc, v[0], element()), y = unpack(b, loc, v[1], element());
              return pack(b, loc, binaryScalar(b, loc, o.getKind(), x, y, element()), element());
            });
          })
          .Case([&](ir::CompareOp o) {
            return pointwise(operands(), type(), [&](OpBuilder& b, Location loc, ValueRange v) {
              Value x = unpack(b, loc, v[0], element()), y = unpack(b, loc, v[1], element());
              return compareScalar(b, loc, o.getKind(), x, y, element());
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
            const Type to = cast<RankedTensorType>(o.getType()).getElementType();
            return pointwise(operands(), type(), [&](OpBuilder& b, Location loc, ValueRange v) {
              return castScalar(b, loc, v[0], element(), to,
                                {o.getOverflow(), o.getRounding().value_or(ir::CastRounding::Nearest)});
            });
          })
          .Case([&](ir::BitcastOp o) {
            const Type to = cast<RankedTensorType>(o.getType()).getElementType();
            return pointwise(operands(), type(), [&](OpBuilder& b, Location loc, ValueRange v) {
              return bitcastScalar(b, loc, v[0], element(), to);
            });
          })
          .Case([&](ir::BroadcastOp o) { return broadcast(o); })
          .Case([&](ir::ReshapeOp o) {
            return reshape(operands()[0], ir::shapeOf(cast<RankedTensorType>(o.getType())));
          })
          .Case([&](ir::TransposeOp o) { return transpose(get(o.getInput()), o.getPermutation()); })
          .Case([&](ir::ConcatOp o) { return concat(o); })
          .Case([&](ir::SliceOp o) { return slice(o); })
          .Case([&](ir::GatherOp o) { return gather(o); })
          .Case([&](ir::ShapeValueOp o) { return shapeValue(o); })
          .Case([&](ir::TruncateOp o) { return truncate(o); })
          .Case([&](ir::IotaOp o) { return iota(o); })
          .Case([&](ir::PadOp o) { return pad(o); })
          .Case([&](ir::ReduceOp o) { return reduce(o.getKind(), get(o.getInput()), o.getAxes()); })
          .Case([&](ir::SoftmaxOp o) { return softmax(o); })
          .Case([&](ir::MatmulOp o) { return matmul(o); })
          .Case([&](ir::DequantiseOp o) { return dequantise(o); })
          .Case([&](ir::AttentionOp o) { return attention(o); })
          .Case([&](ir::ConvOp o) { return convolution(o); })
          .Case([&](ir::PoolOp o) { return pool(o); })
          .Case([&](ir::BatchNormOp o) { return batchNorm(o); })
          .Default([](Operation*) { return Value(); });
  if (!result) return op->emitError("this target has no lowering for the operation");
  map(op->getResult(0), result);
  return success();
}

}  // namespace kiln::schedule
