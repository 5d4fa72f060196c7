#include "compiler_core/frontend/graph/index_math.h"

namespace kiln::frontend {
namespace {

using ir::BinaryKind;
using ir::CompareKind;

mlir::Type i64(GraphBuilder& node) {
  return mlir::IntegerType::get(node.context(), 64);
}

}  // namespace

Result<Value> extentValue(GraphBuilder& node, const Dim& extent) {
  if (extent.isStatic()) {
    auto type = mlir::RankedTensorType::get({}, i64(node));
    return node.constant(mlir::DenseElementsAttr::get(type, llvm::ArrayRef<std::int64_t>{extent.value()}));
  }
  return node.reshape(node.shapeValue({extent}), Shape());
}

Result<Value> timesExtent(GraphBuilder& node, Value value, const Dim& factor) {
  if (factor == Dim(1)) return value;
  KILN_ASSIGN(Value scalar, extentValue(node, factor));
  return node.binary(BinaryKind::Mul, value, scalar);
}

Result<Value> countFromEnd(GraphBuilder& node, Value indices, const Dim& extent) {
  KILN_ASSIGN(Value index, node.cast(indices, i64(node)));
  KILN_ASSIGN(Value scalar, extentValue(node, extent));
  KILN_ASSIGN(Value negative, node.compare(CompareKind::Lt, index, node.scalar(i64(node), 0)));
  KILN_ASSIGN(Value shifted, node.binary(BinaryKind::Add, index, scalar));
  return node.select(negative, shifted, index);
}

Result<Value> isInside(GraphBuilder& node, Value position, const Dim& extent) {
  KILN_ASSIGN(Value scalar, extentValue(node, extent));
  KILN_ASSIGN(Value low, node.compare(CompareKind::Ge, position, node.scalar(i64(node), 0)));
  KILN_ASSIGN(Value high, node.compare(CompareKind::Lt, position, scalar));
  return node.binary(BinaryKind::And, low, high);
}

Result<Value> orNowhere(GraphBuilder& node, Value condition, Value position) {
  return node.select(condition, position, node.scalar(i64(node), -1));
}

Result<Value> flatPosition(GraphBuilder& node, mlir::ValueRange coordinates, llvm::ArrayRef<Dim> shape) {
  Value result;
  Dim stride = 1;
  for (std::size_t i = coordinates.size(); i-- > 0;) {
    KILN_ASSIGN(Value term, timesExtent(node, coordinates[i], stride));
    if (result) {
      KILN_ASSIGN(term, node.binary(BinaryKind::Add, term, result));
    }
    result = term;
    stride = stride * shape[i];
  }
  return result;
}

Result<Value> coordinate(GraphBuilder& node, llvm::ArrayRef<Dim> shape, std::int64_t axis) {
  return node.iota(i64(node), Shape(shape), axis);
}

Result<Value> alongAxis(GraphBuilder& node, Value value, std::int64_t axis, std::int64_t rank) {
  Shape shape(static_cast<std::size_t>(rank), Dim(1));
  shape[static_cast<std::size_t>(axis)] = dimsOf(value)[0];
  return node.reshape(value, shape);
}

Result<Value> firstOf(GraphBuilder& node, Value value, Value count, std::int64_t axis) {
  if (dimsOf(value)[static_cast<std::size_t>(axis)] == Dim(0)) return value;  // there is nothing to leave out
  if (auto known = GraphBuilder::constantIntegers(count)) {
    Shape shape = dimsOf(value);
    shape[static_cast<std::size_t>(axis)] = (*known)[0];
    return node.slice(value, Dims(shape.size(), 0), Dims(shape.size(), 1), shape);
  }
  return node.truncate(value, count, axis, node.newSymbol());
}

}  // namespace kiln::frontend
