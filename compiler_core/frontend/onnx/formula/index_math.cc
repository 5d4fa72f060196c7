#include "compiler_core/frontend/onnx/formula/index_math.h"

#include <algorithm>
#include <cstring>

namespace kiln::onnx {
namespace {

using ir::BinaryKind;
using ir::CompareKind;

mlir::Type i64(NodeContext& node) {
  return mlir::IntegerType::get(node.context(), 64);
}

}  // namespace

Result<Value> extentValue(NodeContext& node, const Dim& extent) {
  if (extent.isStatic()) {
    auto type = mlir::RankedTensorType::get({}, i64(node));
    return node.constant(mlir::DenseElementsAttr::get(type, llvm::ArrayRef<std::int64_t>{extent.value()}));
  }
  return node.reshape(node.shapeValue({extent}), Shape());
}

Result<Value> timesExtent(NodeContext& node, Value value, const Dim& factor) {
  if (factor == Dim(1)) return value;
  KILN_ASSIGN(Value scalar, extentValue(node, factor));
  return node.binary(BinaryKind::Mul, value, scalar);
}

Result<Value> countFromEnd(NodeContext& node, Value indices, const Dim& extent) {
  KILN_ASSIGN(Value index, node.cast(indices, i64(node)));
  KILN_ASSIGN(Value scalar, extentValue(node, extent));
  KILN_ASSIGN(Value negative, node.compare(CompareKind::Lt, index, node.scalar(i64(node), 0)));
  KILN_ASSIGN(Value shifted, node.binary(BinaryKind::Add, index, scalar));
  return node.select(negative, shifted, index);
}

namespace {

// How an index lies in a dimension.
enum class Place { kInside, kOutside, kOpen };

Place placeOf(const NodeContext& node, const Dim& index, const Dim& extent) {
  constexpr std::int64_t kFar = std::int64_t{1} << 60;  // no dimension gets as large
  if (index.isStatic() && (index.value() < -kFar || index.value() > kFar)) return Place::kOutside;
  const auto fromEnd = node.rangeOf(index + extent), toEnd = node.rangeOf(extent - Dim(1) - index);
  if (!fromEnd || !toEnd) return Place::kOpen;
  if (fromEnd->max < 0 || toEnd->max < 0) return Place::kOutside;
  return fromEnd->min >= 0 && toEnd->min >= 0 ? Place::kInside : Place::kOpen;
}

// The indices that are known: all of a constant and of what is calculated from extents, the smallest and the
// largest of a weight.
std::optional<Shape> knownIndices(const NodeContext& node, Value indices) {
  const ir::Weight* weight = node.weight(indices);
  if (!weight) return NodeContext::symbolicIntegers(indices);
  std::int64_t least = INT64_MAX, most = INT64_MIN;
  auto take = [&]<class T>(T) {
    for (std::size_t at = 0; at + sizeof(T) <= weight->bytes.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, weight->bytes.data() + at, sizeof value);
      least = std::min<std::int64_t>(least, value);
      most = std::max<std::int64_t>(most, value);
    }
  };
  if (weight->dtype == DType::kI64)
    take(std::int64_t());
  else if (weight->dtype == DType::kI32)
    take(std::int32_t());
  else
    return std::nullopt;
  if (least > most) return Shape();
  return Shape{Dim(least), Dim(most)};
}

}  // namespace

Status checkIndices(NodeContext& node, Value indices, const Dim& extent) {
  if (auto known = knownIndices(node, indices)) {
    bool isInside = true;
    for (const Dim& index : *known) {
      const Place place = placeOf(node, index, extent);
      if (place == Place::kOutside)
        return fail(Code::kInvalidArgument, "index " + node.describe({index}) +
                                                " is outside the dimension of " + node.describe({extent}));
      isInside &= place == Place::kInside;
    }
    if (isInside) return {};
  }
  KILN_ASSIGN(Value index, node.cast(indices, i64(node)));
  KILN_ASSIGN(Value end, extentValue(node, extent));
  KILN_ASSIGN(Value start, node.binary(BinaryKind::Sub, node.scalar(i64(node), 0), end));
  KILN_ASSIGN(Value below, node.compare(CompareKind::Lt, index, start));
  KILN_ASSIGN(Value beyond, node.compare(CompareKind::Ge, index, end));
  KILN_ASSIGN(Value outside, node.binary(BinaryKind::Or, below, beyond));
  return node.countIndices(outside);
}

Result<Value> isInside(NodeContext& node, Value position, const Dim& extent) {
  KILN_ASSIGN(Value scalar, extentValue(node, extent));
  KILN_ASSIGN(Value low, node.compare(CompareKind::Ge, position, node.scalar(i64(node), 0)));
  KILN_ASSIGN(Value high, node.compare(CompareKind::Lt, position, scalar));
  return node.binary(BinaryKind::And, low, high);
}

Result<Value> orNowhere(NodeContext& node, Value condition, Value position) {
  return node.select(condition, position, node.scalar(i64(node), -1));
}

Result<Value> flatPosition(NodeContext& node, mlir::ValueRange coordinates, llvm::ArrayRef<Dim> shape) {
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

Result<Value> coordinate(NodeContext& node, llvm::ArrayRef<Dim> shape, std::int64_t axis) {
  return node.iota(i64(node), Shape(shape), axis);
}

Result<Value> alongAxis(NodeContext& node, Value value, std::int64_t axis, std::int64_t rank) {
  Shape shape(static_cast<std::size_t>(rank), Dim(1));
  shape[static_cast<std::size_t>(axis)] = dimsOf(value)[0];
  return node.reshape(value, shape);
}

Result<Value> firstOf(NodeContext& node, Value value, Value count, std::int64_t axis) {
  if (dimsOf(value)[static_cast<std::size_t>(axis)] == Dim(0)) return value;  // there is nothing to leave out
  if (auto known = NodeContext::constantIntegers(count)) {
    Shape shape = dimsOf(value);
    shape[static_cast<std::size_t>(axis)] = (*known)[0];
    return node.slice(value, Dims(shape.size(), 0), Dims(shape.size(), 1), shape);
  }
  return node.truncate(value, count, axis, node.newSymbol());
}

}  // namespace kiln::onnx
