#include "compiler_core/frontend/onnx/formula/check_indices.h"

#include <algorithm>
#include <cstring>

#include "compiler_core/frontend/graph/index_math.h"

namespace kiln::onnx {

using ir::BinaryKind;
using ir::CompareKind;

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
  const mlir::Type i64 = mlir::IntegerType::get(node.context(), 64);
  KILN_ASSIGN(Value index, node.cast(indices, i64));
  KILN_ASSIGN(Value end, extentValue(node, extent));
  KILN_ASSIGN(Value start, node.binary(BinaryKind::Sub, node.scalar(i64, 0), end));
  KILN_ASSIGN(Value below, node.compare(CompareKind::Lt, index, start));
  KILN_ASSIGN(Value beyond, node.compare(CompareKind::Ge, index, end));
  KILN_ASSIGN(Value outside, node.binary(BinaryKind::Or, below, beyond));
  return node.countIndices(outside);
}

}  // namespace kiln::onnx
