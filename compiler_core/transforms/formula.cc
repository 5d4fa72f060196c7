#include "compiler_core/transforms/formula.h"

#include "compiler_core/analysis/constant_values.h"
#include "compiler_core/ir/types.h"

namespace kiln::transforms {

using namespace mlir;

namespace {

DenseElementsAttr splatOf(Value value) {
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  return elements && elements.isSplat() ? elements : nullptr;
}

}  // namespace

ir::Shape shapeOf(Value value) {
  return ir::shapeOf(ir::tensorType(value));
}

std::optional<std::int64_t> integerOf(Value value) {
  const DenseElementsAttr splat = splatOf(value);
  if (!splat || !isa<IntegerType>(splat.getElementType())) return std::nullopt;
  const auto number = splat.getSplatValue<APInt>();
  return splat.getElementType().isUnsignedInteger() ? static_cast<std::int64_t>(number.getZExtValue())
                                                    : number.getSExtValue();
}

Value Formula::folded(Operation* op) {
  Value constant = analysis::foldSmall(b_, op);
  return constant ? constant : op->getResult(0);
}

Value Formula::broadcast(Value x, ArrayRef<ir::Dim> shape) {
  if (ArrayRef(shapeOf(x)) == shape) return x;
  const Type element = ir::tensorType(x).getElementType();
  return ir::BroadcastOp::create(b_, loc_, ir::tensorTypeOf(shape, element), x);
}

Value Formula::binary(ir::BinaryKind kind, Value x, Value y) {
  ir::Shape shape = shapeOf(x);
  const ir::Shape other = shapeOf(y);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == ir::Dim(1)) shape[i] = other[i];
  const Type type = ir::tensorTypeOf(shape, ir::tensorType(x).getElementType());
  return folded(ir::BinaryOp::create(b_, loc_, type, kind, broadcast(x, shape), broadcast(y, shape)));
}

Value Formula::cast(Value x, Type element) {
  return folded(ir::CastOp::create(b_, loc_, ir::withElement(ir::tensorType(x), element), x, UnitAttr(),
                                   ir::CastRoundingAttr()));
}

Value Formula::bitcast(Value x, Type element) {
  return ir::BitcastOp::create(b_, loc_, ir::withElement(ir::tensorType(x), element), x);
}

Value Formula::reshape(Value x, ArrayRef<ir::Dim> shape) {
  if (ArrayRef(shapeOf(x)) == shape) return x;
  return folded(
      ir::ReshapeOp::create(b_, loc_, ir::tensorTypeOf(shape, ir::tensorType(x).getElementType()), x));
}

Value Formula::transpose(Value x, ArrayRef<std::int64_t> permutation) {
  return ir::TransposeOp::create(b_, loc_, x, permutation);
}

Value Formula::number(std::int64_t value, std::size_t rank) {
  auto type = RankedTensorType::get(SmallVector<std::int64_t>(rank, 1), b_.getI32Type());
  return ir::ConstantOp::create(
      b_, loc_, type, DenseElementsAttr::get(type, APInt(32, static_cast<std::uint64_t>(value), true, true)));
}

Value repeatedIn(Formula& formula, Value value) {
  const std::size_t rank = shapeOf(value).size();
  while (auto repeated = value.getDefiningOp<ir::BroadcastOp>()) value = repeated.getInput();
  if (DenseElementsAttr splat = splatOf(value)) {
    auto type = RankedTensorType::get(SmallVector<std::int64_t>(rank, 1), splat.getElementType());
    return ir::ConstantOp::create(formula.builder(), formula.location(), type, splat.resizeSplat(type));
  }
  ir::Shape shape = shapeOf(value);
  shape.insert(shape.begin(), rank - shape.size(), ir::Dim(1));
  return formula.reshape(value, shape);
}

}  // namespace kiln::transforms
