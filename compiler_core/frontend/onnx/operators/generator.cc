// Tensors made of positions: Range, EyeLike, OneHot, Trilu.
#include <cmath>

#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

using ir::BinaryKind;
using ir::CompareKind;

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

mlir::Type i64(NodeContext& node) {
  return mlir::IntegerType::get(node.context(), 64);
}

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;

// Whether a bound of a Range of floats is an extent that was cast to one.
bool isExtent(Value value) {
  const auto known = NodeContext::symbolicWholes(value);
  return known && !ir::isStatic(*known);
}

// How many numbers a Range has; its bounds may be extents.
Result<Dim> rangeCount(NodeContext& node, Value start, Value limit, Value delta) {
  if (!isFloat(start) || isExtent(start) || isExtent(limit)) {
    Dim bounds[3];
    for (int i = 0; Value value : {start, limit, delta}) {
      auto known = NodeContext::symbolicWholes(value);
      if (!known || known->size() != 1) return NodeContext::notConstant("the length of Range", value);
      bounds[i++] = (*known)[0];
    }
    if (!bounds[2].isStatic() || bounds[2].value() == 0 ||
        bounds[2].value() == std::numeric_limits<std::int64_t>::min())
      return fail(Code::kUnimplemented, "the step of Range must be a number known at compile time and not 0");
    const bool up = bounds[2].value() > 0;
    for (const Dim& bound : {bounds[0], bounds[1]})
      if (bound.isStatic() && (bound.value() > kMaxExtent || bound.value() < -kMaxExtent))
        return invalid("absurd bound " + bound.text());
    Dim count = *ir::ceilDiv(up ? bounds[1] - bounds[0] : bounds[0] - bounds[1],
                             up ? bounds[2].value() : -bounds[2].value());
    if (count.isStatic()) count = std::max<std::int64_t>(count.value(), 0);
    return count;
  }
  double bounds[3];
  for (int i = 0; Value value : {start, limit, delta}) {
    auto known = NodeContext::constantScalar(value);
    if (!known) return NodeContext::notConstant("the length of Range", value);
    bounds[i++] = *known;
  }
  const double count = std::ceil((bounds[1] - bounds[0]) / bounds[2]);
  if (!(count < static_cast<double>(kMaxExtent))) return invalid("Range has no finite length");
  return Dim(static_cast<std::int64_t>(std::max(count, 0.0)));
}

Result<Values> range(NodeContext& node) {
  Value bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    KILN_ASSIGN(bounds[i], node.input(i));
    KILN_ASSIGN(bounds[i], node.reshape(bounds[i], Shape()));
  }
  const mlir::Type type = elementOf(bounds[0]);
  std::int64_t stash = 1;
  if (node.opset() >= 27) {
    KILN_ASSIGN(stash, node.integer("stash_type", 1));
  }
  KILN_ASSIGN(Dim count, rangeCount(node, bounds[0], bounds[1], bounds[2]));
  // 16-bit floats are calculated in f32.
  const bool narrow = isFloat(bounds[0]) && type.getIntOrFloatBitWidth() == 16 && stash == 1;
  const mlir::Type wide = narrow ? mlir::Float32Type::get(node.context()) : type;
  KILN_ASSIGN(Value position, node.iota(i64(node), {count}, 0));
  KILN_ASSIGN(position, node.cast(position, wide));
  KILN_ASSIGN(Value delta, node.cast(bounds[2], wide));
  KILN_ASSIGN(Value start, node.cast(bounds[0], wide));
  KILN_ASSIGN(Value offset, node.binary(BinaryKind::Mul, position, delta));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Add, start, offset));
  KILN_ASSIGN(result, node.cast(result, type));
  return Values{result};
}

// column - row of the last two dimensions of `shape`.
Result<Value> diagonal(NodeContext& node, const Shape& shape) {
  const Shape plane(shape.end() - 2, shape.end());
  KILN_ASSIGN(Value row, coordinate(node, plane, 0));
  KILN_ASSIGN(Value column, coordinate(node, plane, 1));
  return node.binary(BinaryKind::Sub, column, row);
}

Result<Values> eyeLike(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t k, node.integer("k", 0));
  mlir::Type element = elementOf(input);
  if (node.hasAttribute("dtype")) {
    KILN_ASSIGN(std::int64_t to, node.integer("dtype", 0));
    auto type = to >= 0 && to < 1000 ? static_cast<std::int32_t>(to) : -1;
    if (std::string why = unservedType(type); !why.empty()) return fail(Code::kUnimplemented, why);
    element = ir::elementType(node.context(), *toDType(type));
  }
  if (rankOf(input) != 2) return invalid("the input has rank 2");
  KILN_ASSIGN(Value offset, diagonal(node, dimsOf(input)));
  KILN_ASSIGN(Value wanted, extentValue(node, k));
  KILN_ASSIGN(Value mask, node.compare(CompareKind::Eq, offset, wanted));
  KILN_ASSIGN(Value result, node.cast(mask, element));
  return Values{result};
}

Result<Values> trilu(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t upper, node.integer("upper", 1));
  if (rankOf(input) < 2) return invalid("the input has rank 2 or more");
  KILN_ASSIGN(Value k, extentValue(node, 0));
  if (node.hasInput(1)) {
    KILN_ASSIGN(k, node.reshape(node.inputs()[1], Shape()));
    KILN_ASSIGN(k, node.cast(k, i64(node)));
  }
  KILN_ASSIGN(Value offset, diagonal(node, dimsOf(input)));
  KILN_ASSIGN(Value kept, node.compare(upper != 0 ? CompareKind::Ge : CompareKind::Le, offset, k));
  KILN_ASSIGN(Value result, node.select(kept, input, node.scalar(elementOf(input), 0)));
  return Values{result};
}

Result<Values> oneHot(NodeContext& node) {
  KILN_ASSIGN(Value indices, node.input(0));
  KILN_ASSIGN(Value depth, node.input(1));
  KILN_ASSIGN(Value values, node.input(2));
  Shape shape = dimsOf(indices);
  const auto rank = static_cast<std::int64_t>(shape.size()) + 1;
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", -1));
  KILN_ASSIGN(axis, normalAxis(axis, rank));
  Dim extent;
  if (auto known = NodeContext::constantScalar(depth)) {
    if (!(*known >= 1 && *known < static_cast<double>(kMaxExtent)))
      return invalid("the depth is not positive");
    extent = static_cast<std::int64_t>(*known);
  } else if (auto symbolic = NodeContext::symbolicIntegers(depth); symbolic && symbolic->size() == 1) {
    extent = (*symbolic)[0];
  } else {
    return NodeContext::notConstant("the depth of OneHot", depth);
  }
  if (dimsOf(values) != Shape{Dim(2)}) return invalid("values holds two elements, off and on");
  KILN_ASSIGN(Value index, countFromEnd(node, indices, extent));
  shape.insert(shape.begin() + axis, Dim(1));
  KILN_ASSIGN(index, node.reshape(index, shape));
  KILN_ASSIGN(Value positions, coordinate(node, {extent}, 0));
  KILN_ASSIGN(positions, alongAxis(node, positions, axis, rank));
  KILN_ASSIGN(Value hot, node.compare(CompareKind::Eq, index, positions));
  KILN_ASSIGN(Value off, node.slice(values, {0}, {1}, {1}));
  KILN_ASSIGN(Value on, node.slice(values, {1}, {1}, {1}));
  KILN_ASSIGN(Value result, node.select(hot, on, off));
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "EyeLike", 9, kMaxOpset, eyeLike},
    {"", "OneHot", 9, kMaxOpset, oneHot},
    {"", "Range", 11, kMaxOpset, range},
    {"", "Trilu", 14, kMaxOpset, trilu},
};

}  // namespace

std::span<const Operator> generatorOperators() {
  return kRows;
}

}  // namespace kiln::onnx
