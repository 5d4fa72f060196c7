// Operators that change or report shapes.
#include "compiler_core/frontend/onnx/operators/operators.h"

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
  KILN_ASSIGN(Shape target, node.symbolicInput(1, "the shape of Reshape"));
  KILN_ASSIGN(std::int64_t allowZero,
              node.opset() >= 14 ? node.integer("allowzero", 0) : Result<std::int64_t>(0));
  const Shape from = dimsOf(input);
  std::optional<std::size_t> open;
  for (auto [i, dim] : llvm::enumerate(target)) {
    const std::string place = "dimension " + std::to_string(i) + " of the shape";
    const auto range = node.rangeOf(dim);
    if (dim == Dim(0) && !allowZero) {
      if (i >= from.size()) return invalid(place + " is 0, the input has no such dimension");
      dim = from[i];
    } else if (dim == Dim(-1)) {
      if (std::exchange(open, i)) return invalid("two dimensions of the shape are -1");
    } else if (dim.isStatic() && dim.value() < 0) {
      return invalid(place + " is " + dim.text());
    } else if (!range || range->min < (allowZero ? 0 : 1)) {
      if (!dim.isStatic()) return node.undecided(place + ", " + node.describe(dim) + ",");
    }
  }
  const bool numbers = ir::isStatic(from) && ir::isStatic(target);
  const Dim elements = ir::product(from);
  if (numbers && !ir::checkedElements(ir::numbers(from))) return invalid("absurd dimensions");
  if (open) {
    target[*open] = 1;
    if (ir::isStatic(target) && !ir::checkedElements(ir::numbers(target)))
      return invalid("absurd dimensions");
    const auto rest = ir::exactDiv(elements, ir::product(target));
    if (!rest && numbers) return invalid("shape " + node.describe(from) + " cannot fill the -1");
    if (!rest) return node.undecided("what -1 stands for when " + node.describe(from) + " is reshaped");
    target[*open] = *rest;
  }
  if (numbers && ir::checkedElements(ir::numbers(target)) != elements.value())
    return invalid("shape " + node.describe(from) + " cannot become " + node.describe(target));
  if (!(ir::product(target) == elements))
    return node.undecided("whether shape " + node.describe(from) + " can become " + node.describe(target));
  return one(node.reshape(input, target));
}

Result<Values> flatten(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", 1));
  const std::int64_t rank = rankOf(input);
  if (axis < -rank || axis > rank)
    return invalid("axis " + std::to_string(axis) + " is outside rank " + std::to_string(rank));
  if (axis < 0) axis += rank;
  const Shape shape = dimsOf(input);
  return one(node.reshape(input, {ir::product(llvm::ArrayRef(shape).take_front(axis)),
                                  ir::product(llvm::ArrayRef(shape).drop_front(axis))}));
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
  Dims axes;
  Shape shape;
  if (given) {
    KILN_ASSIGN(axes, normalAxes(*given, rankOf(input)));
  }
  for (auto [i, dim] : llvm::enumerate(dimsOf(input))) {
    const std::string place = "dimension " + std::to_string(i);
    bool named = llvm::is_contained(axes, static_cast<std::int64_t>(i));
    if (named && !(dim == Dim(1)))
      return dim.isStatic() ? invalid(place + " is " + dim.text() + " and cannot be squeezed")
                            : node.undecided("whether " + place + ", " + node.describe(dim) + ", is 1");
    const auto range = node.rangeOf(dim);
    if (!given && !dim.isStatic() && (!range || range->min < 2))
      return node.undecided("whether " + place + ", " + node.describe(dim) + ", is 1");
    if (!(given ? named : dim == Dim(1))) shape.push_back(dim);
  }
  return one(node.reshape(input, shape));
}

Result<Values> unsqueeze(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::optional<Dims> given, node.integersByVersion("axes", 1, 13));
  if (!given) return invalid("axes are missing");
  const std::int64_t rank = rankOf(input) + static_cast<std::int64_t>(given->size());
  KILN_ASSIGN(Dims axes, normalAxes(*given, rank));
  Shape shape;
  const Shape from = dimsOf(input);
  auto next = from.begin();
  for (std::int64_t i = 0; i < rank; ++i) shape.push_back(llvm::is_contained(axes, i) ? Dim(1) : *next++);
  return one(node.reshape(input, shape));
}

Result<Values> expand(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Shape target, node.symbolicInput(1, "the shape of Expand"));
  for (const Dim& dim : target) {
    const auto range = node.rangeOf(dim);
    if (dim.isStatic() && dim.value() < 0) return invalid("the shape has a negative dimension");
    if (!dim.isStatic() && (!range || range->min < 1))
      return node.undecided("the shape " + node.describe(target));
  }
  KILN_ASSIGN(Shape shape, node.broadcastDims(dimsOf(input), target));
  return one(node.broadcast(input, shape));
}

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
  const Shape shape = dimsOf(input);
  return Values{node.shapeValue(llvm::ArrayRef(shape).slice(start, end - start))};
}

Result<Values> size(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  return one(node.reshape(node.shapeValue({ir::product(dimsOf(input))}), Shape()));
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
