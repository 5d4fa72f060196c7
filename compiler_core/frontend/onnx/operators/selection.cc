// Choosing elements by their values: ArgMax, ArgMin, TopK, Hardmax, NonZero, Compress, Unique,
// NonMaxSuppression; and running sums.
#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

using ir::BinaryKind;
using ir::CompareKind;
using ir::ReduceKind;

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

mlir::Type i64(NodeContext& node) {
  return mlir::IntegerType::get(node.context(), 64);
}

template <ReduceKind kind>
Result<Values> arg(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", 0));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(input)));
  KILN_ASSIGN(std::int64_t keep, node.integer("keepdims", 1));
  std::int64_t last = 0;
  if (node.opset() >= 12) {
    KILN_ASSIGN(last, node.integer("select_last_index", 0));
  }
  KILN_ASSIGN(Value result, node.argReduce(kind, input, axis, last != 0));
  if (keep != 0) {
    Shape shape = dimsOf(input);
    shape[axis] = 1;
    KILN_ASSIGN(result, node.reshape(result, shape));
  }
  return Values{result};
}

Result<Values> topK(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", -1));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(input)));
  Dim count;
  if (node.opset() < 10) {
    if (!node.hasAttribute("k")) return invalid("attribute 'k' is missing");
    KILN_ASSIGN(count, node.integer("k", 0));
  } else {
    KILN_ASSIGN(Value k, node.input(1));
    auto known = NodeContext::symbolicIntegers(k);
    if (!known) return NodeContext::notConstant("k of TopK", k);
    if (known->size() != 1) return invalid("k is one number");
    count = (*known)[0];
  }
  std::int64_t largest = 1;
  if (node.opset() >= 11) {
    KILN_ASSIGN(largest, node.integer("largest", 1));
    KILN_TRY(node.integer("sorted", 1));  // sorted is one of the orders that "unsorted" allows
  }
  Shape shape = dimsOf(input);
  const Dim extent = shape[axis];
  if (count.isStatic() && (count.value() < 0 || (extent.isStatic() && count.value() > extent.value())))
    return invalid("k is " + node.describe(count) + " for a dimension of " + node.describe(extent));
  if (!count.isStatic() && !(count == extent))
    return fail(Code::kUnimplemented, "k of TopK, " + node.describe(count) + ", is not known to be at most " +
                                          node.describe(extent));
  KILN_ASSIGN(Values sorted, node.sort(input, axis, largest != 0));
  shape[axis] = count;
  for (Value& value : sorted) {
    KILN_ASSIGN(value, node.slice(value, Dims(shape.size(), 0), Dims(shape.size(), 1), shape));
  }
  return sorted;
}

// 1 at the first largest element along an axis, 0 elsewhere. Before version 13 along all dimensions from
// `axis` on.
Result<Values> hardmax(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  const bool flat = node.opset() < 13;
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", flat ? 1 : -1));
  const Shape original = dimsOf(input);
  if (flat && axis == rankOf(input)) {
    KILN_ASSIGN(input, node.reshape(input, {ir::product(original), 1}));
    axis = 1;
  } else {
    KILN_ASSIGN(axis, normalAxis(axis, rankOf(input)));
    if (flat) {
      const auto at = static_cast<std::size_t>(axis);
      KILN_ASSIGN(input, node.reshape(input, {ir::product(llvm::ArrayRef(original).take_front(at)),
                                              ir::product(llvm::ArrayRef(original).drop_front(at))}));
      axis = 1;
    }
  }
  KILN_ASSIGN(Value best, node.argReduce(ReduceKind::Max, input, axis, false));
  Shape shape = dimsOf(input);
  KILN_ASSIGN(Value position, coordinate(node, shape, axis));
  shape[axis] = 1;
  KILN_ASSIGN(best, node.reshape(best, shape));
  KILN_ASSIGN(Value isBest, node.compare(CompareKind::Eq, position, best));
  KILN_ASSIGN(Value result, node.cast(isBest, elementOf(input)));
  KILN_ASSIGN(result, node.reshape(result, original));
  return Values{result};
}

Result<Values> nonZero(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  const Shape shape = dimsOf(input);
  KILN_ASSIGN(Value flat, node.reshape(input, {ir::product(shape)}));
  KILN_ASSIGN(Value mask, node.cast(flat, mlir::IntegerType::get(node.context(), 1)));
  KILN_ASSIGN(Values found, node.compress(mask));
  // A scalar has no coordinates; ONNX gives it one.
  Shape dims = shape.empty() ? Shape{Dim(1)} : shape;
  Values rows;
  Dim stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    Value at = found[0];
    if (!(stride == Dim(1))) {
      KILN_ASSIGN(Value scalar, extentValue(node, stride));
      KILN_ASSIGN(at, node.binary(BinaryKind::Div, at, scalar));
    }
    if (i > 0) {
      KILN_ASSIGN(Value scalar, extentValue(node, dims[i]));
      KILN_ASSIGN(at, node.binary(BinaryKind::Mod, at, scalar));
    }
    KILN_ASSIGN(at, alongAxis(node, at, 1, 2));
    rows.insert(rows.begin(), at);
    stride = stride * dims[i];
  }
  Value all = rows[0];
  if (rows.size() > 1) {
    KILN_ASSIGN(all, node.concat(rows, 0));
  }
  KILN_ASSIGN(Value result, firstOf(node, all, found[1], 1));
  return Values{result};
}

Result<Values> compress(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value condition, node.input(1));
  if (rankOf(condition) != 1) return invalid("the condition has rank 1");
  std::int64_t axis = 0;
  if (node.hasAttribute("axis")) {
    KILN_ASSIGN(axis, node.integer("axis", 0));
    KILN_ASSIGN(axis, normalAxis(axis, rankOf(input)));
  } else {
    KILN_ASSIGN(input, node.reshape(input, {ir::product(dimsOf(input))}));
  }
  const Dim extent = dimsOf(input)[axis], length = dimsOf(condition)[0];
  if (extent.isStatic() && length.isStatic() && length.value() > extent.value())
    return invalid("the condition is longer than the dimension");
  KILN_ASSIGN(Values found, node.compress(condition));
  KILN_ASSIGN(Value picked, node.gather(input, found[0], axis));
  KILN_ASSIGN(Value result, firstOf(node, picked, found[1], axis));
  return Values{result};
}

Result<Values> unique(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t sorted, node.integer("sorted", 1));
  std::int64_t axis = 0;
  Value rows;
  if (node.hasAttribute("axis")) {
    KILN_ASSIGN(axis, node.integer("axis", 0));
    KILN_ASSIGN(axis, normalAxis(axis, rankOf(input)));
    Dims permutation{axis};
    for (std::int64_t i = 0; i < rankOf(input); ++i)
      if (i != axis) permutation.push_back(i);
    KILN_ASSIGN(rows, node.transpose(input, permutation));
  } else {
    KILN_ASSIGN(input, node.reshape(input, {ir::product(dimsOf(input))}));
    rows = input;
  }
  KILN_ASSIGN(Values found, node.unique(rows, sorted != 0));
  // All results share one size, so one symbol.
  const std::int64_t symbol = node.newSymbol();
  const auto first = [&](Value value, std::int64_t along) -> Result<Value> {
    if (dimsOf(value)[static_cast<std::size_t>(along)] == Dim(0)) return value;
    return node.truncate(value, found[3], along, symbol);
  };
  KILN_ASSIGN(Value picked, node.gather(input, found[0], axis));
  KILN_ASSIGN(Value values, first(picked, axis));
  KILN_ASSIGN(Value indices, first(found[0], 0));
  KILN_ASSIGN(Value counts, first(found[2], 0));
  return Values{values, indices, found[1], counts};
}

Result<Values> nonMaxSuppression(NodeContext& node) {
  KILN_ASSIGN(Value boxes, node.input(0));
  KILN_ASSIGN(Value scores, node.input(1));
  KILN_ASSIGN(std::int64_t center, node.integer("center_point_box", 0));
  if (center != 0 && center != 1) return invalid("center_point_box is 0 or 1");
  const mlir::Type f32 = mlir::Float32Type::get(node.context());
  // Without a score threshold every box is a candidate; without a maximum there is no output.
  Values operands{boxes, scores, node.scalar(i64(node), 0), node.scalar(f32, 0),
                  node.scalar(f32, -std::numeric_limits<double>::infinity())};
  for (std::size_t i = 2; i < 5; ++i) {
    if (!node.hasInput(i)) continue;
    KILN_ASSIGN(Value given, node.input(i));
    KILN_ASSIGN(given, node.reshape(given, Shape()));
    KILN_ASSIGN(operands[i], node.cast(given, i == 2 ? i64(node) : f32));
  }
  KILN_ASSIGN(Values found, node.nms(operands, center != 0));
  KILN_ASSIGN(Value result, firstOf(node, found[0], found[1], 0));
  return Values{result};
}

template <ReduceKind kind>
Result<Values> cumulative(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Dims axes, node.constantInput(1, "the axis of " + node.op().str()));
  if (axes.size() != 1) return invalid("the axis is one number");
  KILN_ASSIGN(std::int64_t axis, normalAxis(axes[0], rankOf(input)));
  KILN_ASSIGN(std::int64_t exclusive, node.integer("exclusive", 0));
  KILN_ASSIGN(std::int64_t reverse, node.integer("reverse", 0));
  KILN_ASSIGN(Value result, node.cumulative(kind, input, axis, exclusive != 0, reverse != 0));
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "ArgMax", 6, kMaxOpset, arg<ReduceKind::Max>},
    {"", "ArgMin", 6, kMaxOpset, arg<ReduceKind::Min>},
    {"", "Compress", 9, kMaxOpset, compress},
    {"", "CumProd", 26, kMaxOpset, cumulative<ReduceKind::Prod>},
    {"", "CumSum", 11, kMaxOpset, cumulative<ReduceKind::Sum>},
    {"", "Hardmax", 6, kMaxOpset, hardmax},
    {"", "NonMaxSuppression", 10, kMaxOpset, nonMaxSuppression},
    {"", "NonZero", 9, kMaxOpset, nonZero},
    {"", "TopK", 6, kMaxOpset, topK},
    {"", "Unique", 11, kMaxOpset, unique},
};

}  // namespace

std::span<const Operator> selectionOperators() {
  return kRows;
}

}  // namespace kiln::onnx
