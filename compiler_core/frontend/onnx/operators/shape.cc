// Operators that change or report shapes.
#include "compiler_core/frontend/onnx/operators.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

Result<Values> one(Result<Value> value) {
  if (!value) return fail(value.error());
  return Values{*value};
}

// 0 copies a dimension (unless allowzero), -1 takes what is left.
Result<Values> reshape(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Dims target, node.constantInput(1, "the shape of Reshape"));
  KILN_ASSIGN(std::int64_t allowZero,
              node.opset() >= 14 ? node.integer("allowzero", 0) : Result<std::int64_t>(0));
  auto from = shapeOf(input);
  std::optional<std::size_t> open;
  for (auto [i, dim] : llvm::enumerate(target)) {
    if (dim == 0 && !allowZero) {
      if (i >= from.size())
        return invalid("dimension " + std::to_string(i) +
                       " of the shape is 0, the input has no such dimension");
      dim = from[i];
    } else if (dim == -1) {
      if (std::exchange(open, i)) return invalid("two dimensions of the shape are -1");
    } else if (dim < 0) {
      return invalid("dimension " + std::to_string(i) + " of the shape is " + std::to_string(dim));
    }
  }
  auto elements = ir::checkedElements(from);
  if (open) {
    target[*open] = 1;
    auto rest = ir::checkedElements(target);
    if (!elements || !rest || *rest == 0 || *elements % *rest)
      return invalid("shape " + shapeText(from) + " cannot fill the -1");
    target[*open] = *elements / *rest;
  }
  if (ir::checkedElements(target) != elements)
    return invalid("shape " + shapeText(from) + " cannot become " + shapeText(target));
  return one(node.reshape(input, target));
}

Result<Values> flatten(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", 1));
  const std::int64_t rank = rankOf(input);
  if (axis < -rank || axis > rank)
    return invalid("axis " + std::to_string(axis) + " is outside rank " + std::to_string(rank));
  if (axis < 0) axis += rank;
  auto rows = ir::checkedElements(shapeOf(input).take_front(axis)),
       columns = ir::checkedElements(shapeOf(input).drop_front(axis));
  if (!rows || !columns) return invalid("absurd dimensions");
  return one(node.reshape(input, {*rows, *columns}));
}

Result<Values> transpose(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  Dims reversed;
  for (std::int64_t dim = rankOf(input); dim-- > 0;) reversed.push_back(dim);
  KILN_ASSIGN(Dims permutation, node.integers("perm", reversed));
  return one(node.transpose(input, permutation));
}

Result<Values> squeeze(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::optional<Dims> given, node.integersByVersion("axes", 1, 13));
  Dims axes, shape;
  if (given) {
    KILN_ASSIGN(axes, normalAxes(*given, rankOf(input)));
  }
  for (auto [i, dim] : llvm::enumerate(shapeOf(input))) {
    bool named = llvm::is_contained(axes, static_cast<std::int64_t>(i));
    if (named && dim != 1)
      return invalid("dimension " + std::to_string(i) + " is " + std::to_string(dim) +
                     " and cannot be squeezed");
    if (!(given ? named : dim == 1)) shape.push_back(dim);
  }
  return one(node.reshape(input, shape));
}

Result<Values> unsqueeze(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::optional<Dims> given, node.integersByVersion("axes", 1, 13));
  if (!given) return invalid("axes are missing");
  const std::int64_t rank = rankOf(input) + static_cast<std::int64_t>(given->size());
  KILN_ASSIGN(Dims axes, normalAxes(*given, rank));
  Dims shape;
  auto next = shapeOf(input).begin();
  for (std::int64_t i = 0; i < rank; ++i) shape.push_back(llvm::is_contained(axes, i) ? 1 : *next++);
  return one(node.reshape(input, shape));
}

Result<Values> expand(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Dims target, node.constantInput(1, "the shape of Expand"));
  for (std::int64_t dim : target)
    if (dim < 0) return invalid("the shape has a negative dimension");
  KILN_ASSIGN(Dims shape, broadcastShape(shapeOf(input), target));
  return one(node.broadcast(input, shape));
}

// Shapes are static here, so the result is a constant.
Result<Values> shapeOperator(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  const std::int64_t rank = rankOf(input);
  std::int64_t start = 0, end = rank;
  if (node.opset() >= 15) {
    KILN_ASSIGN(start, node.integer("start", 0));
    KILN_ASSIGN(end, node.integer("end", rank));
  }
  auto clamp = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank); };
  start = clamp(start);
  end = std::max(start, clamp(end));
  return Values{node.integerList(shapeOf(input).slice(start, end - start))};
}

Result<Values> size(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  auto elements = ir::checkedElements(shapeOf(input));
  if (!elements) return invalid("absurd dimensions");
  return one(node.reshape(node.integerList({*elements}), {}));
}

constexpr Operator kRows[] = {
    {"", "Expand", 8, kMaxOpset, expand},       {"", "Flatten", 6, kMaxOpset, flatten},
    {"", "Reshape", 6, kMaxOpset, reshape},     {"", "Shape", 6, kMaxOpset, shapeOperator},
    {"", "Size", 6, kMaxOpset, size},           {"", "Squeeze", 6, kMaxOpset, squeeze},
    {"", "Transpose", 6, kMaxOpset, transpose}, {"", "Unsqueeze", 6, kMaxOpset, unsqueeze},
};

}  // namespace

std::span<const Operator> shapeOperators() {
  return kRows;
}

}  // namespace kiln::onnx
