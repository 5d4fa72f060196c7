#include "compiler_core/frontend/graph/formula.h"

namespace kiln::frontend {

Term Term::cast(mlir::Type element) const {
  return apply([&](Value v) { return builder_->cast(v, element); });
}

Term Term::index() const {
  return cast(mlir::IntegerType::get(builder_->context(), 64));
}

Term Term::reshape(const ShapeArg& shape) const {
  return apply([&](Value v) { return builder_->reshape(v, shape); });
}

Term Term::broadcast(const ShapeArg& shape) const {
  return apply([&](Value v) { return builder_->broadcast(v, shape); });
}

Term Term::transpose(llvm::ArrayRef<std::int64_t> permutation) const {
  return apply([&](Value v) { return builder_->transpose(v, permutation); });
}

Term Term::reduce(ir::ReduceKind kind, llvm::ArrayRef<std::int64_t> axes, bool keep) const {
  return apply([&](Value v) { return builder_->reduce(kind, v, axes, keep); });
}

Term Term::mean(llvm::ArrayRef<std::int64_t> axes) const {
  return apply([&](Value v) { return builder_->mean(v, axes, true); });
}

Term Term::gather(const Term& indices, std::int64_t axis) const {
  return apply(indices, [&](Value v, Value i) { return builder_->gather(v, i, axis); });
}

Term Term::matmul(const Term& rhs) const {
  return apply(rhs, [&](Value a, Value b) { return builder_->matmul(a, b); });
}

Term Term::unary(ir::UnaryKind kind) const {
  return apply([&](Value v) { return builder_->unary(kind, v); });
}

Term Term::binary(ir::BinaryKind kind, const Term& rhs) const {
  return apply(rhs, [&](Value a, Value b) { return builder_->binary(kind, a, b); });
}

Term Term::compare(ir::CompareKind kind, const Term& rhs) const {
  return apply(rhs, [&](Value a, Value b) { return builder_->compare(kind, a, b); });
}

Term Term::number(double value) const {
  return apply([&](Value v) -> Result<Value> { return builder_->scalar(elementOf(v), value); });
}

Term Term::clamp(const Term& low, const Term& high) const {
  return min(max(*this, low), high);
}

Term Term::select(const Term& onTrue, const Term& onFalse) const {
  if (!onTrue.ok()) return onTrue;
  return apply(onFalse, [&](Value c, Value b) { return builder_->select(c, *onTrue.value(), b); });
}

Term countAlong(GraphBuilder& builder, mlir::Type element, const Dim& extent, std::int64_t axis,
                std::int64_t rank) {
  Shape shape(static_cast<std::size_t>(rank), Dim(1));
  shape[static_cast<std::size_t>(axis)] = extent;
  return {builder, builder.iota(element, shape, axis)};
}

Term extentOf(GraphBuilder& builder, mlir::Type element, const Dim& extent) {
  if (extent.isStatic()) return {builder, builder.scalar(element, static_cast<double>(extent.value()))};
  return Term(builder, builder.shapeValue({extent})).reshape(Shape{}).cast(element);
}

Term elementAt(GraphBuilder& builder, Value vector, std::int64_t index) {
  return Term(builder, builder.slice(vector, {index}, {1}, {Dim(1)})).reshape(Shape{});
}

mlir::Type calculationType(mlir::Type element) {
  const bool wide = element.isF64() || (element.isInteger() && element.getIntOrFloatBitWidth() > 16);
  return wide ? mlir::Type(mlir::Float64Type::get(element.getContext()))
              : mlir::Type(mlir::Float32Type::get(element.getContext()));
}

Term fromCalculation(const Term& value, mlir::Type element) {
  return element.isInteger() ? value.unary(ir::UnaryKind::Round).cast(element) : value.cast(element);
}

}  // namespace kiln::frontend
