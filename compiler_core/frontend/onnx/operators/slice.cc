// Parts of tensors: Slice, Split, Concat, Gather.
#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/onnx/formula/check_indices.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

struct Part {
  Dim offset, size;
};

// Python's slice rule: negative positions count from the end, everything is clamped into the dimension. With
// symbols the ranges have to tell which way each clamp goes.
class SliceRule {
 public:
  SliceRule(const NodeContext& node, const Dim& extent) : node_(node), extent_(extent) {}

  Result<Part> part(const Dim& start, const Dim& end, std::int64_t step) const {
    const bool forwards = step > 0;
    // Before the first element means element 0 forwards, and "none left" backwards.
    const Dim low = forwards ? 0 : -1, high = forwards ? extent_ : extent_ - Dim(1);
    KILN_ASSIGN(const Dim first, position(start, forwards ? Dim(0) : low, high));
    KILN_ASSIGN(const Dim last, position(end, low, forwards ? extent_ : high));
    // -step overflows for the smallest integer; one element is all such a step can take.
    const std::int64_t stride = forwards ? step
                                : step == std::numeric_limits<std::int64_t>::min()
                                    ? std::numeric_limits<std::int64_t>::max()
                                    : -step;
    KILN_ASSIGN(const Dim length, larger(forwards ? last - first : first - last, 0));
    if (length.isStatic()) return Part{first, length.value() > 0 ? (length.value() - 1) / stride + 1 : 0};
    return Part{first, *ir::ceilDiv(length, stride)};
  }

 private:
  // -1, 0, 1 for a < b, a == b or either way equal, a > b; nullopt when the ranges do not tell.
  std::optional<int> order(const Dim& a, const Dim& b) const {
    const auto difference = node_.rangeOf(a - b);
    if (!difference) return std::nullopt;
    if (difference->min >= 0) return difference->max == 0 ? 0 : 1;
    return difference->max <= 0 ? std::optional(-1) : std::nullopt;
  }
  tl::unexpected<Error> undecided(const Dim& a, const Dim& b) const {
    return node_.undecided("which of " + node_.describe({a}) + " and " + node_.describe({b}) +
                           " is larger, when slicing,");
  }
  Result<Dim> larger(const Dim& a, const Dim& b) const {
    const auto which = order(a, b);
    if (!which) return undecided(a, b);
    return *which < 0 ? b : a;
  }
  Result<Dim> smaller(const Dim& a, const Dim& b) const {
    const auto which = order(a, b);
    if (!which) return undecided(a, b);
    return *which < 0 ? a : b;
  }

  Result<Dim> position(Dim p, const Dim& low, const Dim& high) const {
    // Beyond what extents can be; also keeps sums small.
    constexpr std::int64_t kFar = std::int64_t{1} << 48;
    if (p.isStatic()) p = std::clamp<std::int64_t>(p.value(), -kFar, kFar);
    const auto range = node_.rangeOf(p);
    if (!range || (range->min < 0 && range->max >= 0))
      return node_.undecided("whether the position " + node_.describe({p}) + " counts from the end");
    if (range->max < 0) p = p + extent_;
    KILN_ASSIGN(p, larger(p, low));
    return smaller(p, high);
  }

  const NodeContext& node_;
  const Dim extent_;
};

Result<Values> slice(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  Shape starts, ends;
  Dims axes, steps;
  if (node.opset() < 10) {
    KILN_ASSIGN(const Dims from, node.integers("starts", {}));
    KILN_ASSIGN(const Dims to, node.integers("ends", {}));
    starts = ir::toShape(from);
    ends = ir::toShape(to);
    KILN_ASSIGN(axes, node.integers("axes", {}));
  } else {
    KILN_ASSIGN(starts, node.symbolicInput(1, "starts of Slice"));
    KILN_ASSIGN(ends, node.symbolicInput(2, "ends of Slice"));
    if (node.hasInput(3)) {
      KILN_ASSIGN(axes, node.constantInput(3, "axes of Slice"));
    }
    if (node.hasInput(4)) {
      KILN_ASSIGN(steps, node.constantInput(4, "steps of Slice"));
    }
  }
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return invalid("starts, ends, axes and steps differ in length");
  const Shape extents = dimsOf(input);
  Shape offsets(extents.size()), sizes = extents;
  Dims strides(extents.size(), 1), seen;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    KILN_ASSIGN(std::int64_t axis, normalAxis(axes[i], rankOf(input)));
    if (llvm::is_contained(seen, axis)) return invalid("an axis is named twice");
    if (steps[i] == 0) return invalid("a step is 0");
    seen.push_back(axis);
    KILN_ASSIGN(const Part part, SliceRule(node, extents[axis]).part(starts[i], ends[i], steps[i]));
    const bool empty = part.size == Dim(0), single = part.size == Dim(1);
    offsets[axis] = empty ? Dim(0) : part.offset;
    // A step that takes one element only is normalised, so that it cannot be absurd.
    strides[axis] = empty || single ? 1 : steps[i];
    sizes[axis] = part.size;
  }
  KILN_ASSIGN(Value result, node.symbolicSlice(input, offsets, strides, sizes));
  return Values{result};
}

Result<Values> split(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", 0));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(input)));
  Shape parts;
  bool given = false;
  if (node.opset() >= 13 && node.hasInput(1)) {
    KILN_ASSIGN(parts, node.symbolicInput(1, "split"));
    given = true;
  } else if (node.opset() < 13 && node.hasAttribute("split")) {
    KILN_ASSIGN(const Dims numbers, node.integers("split", {}));
    parts = ir::toShape(numbers);
    given = true;
  }
  std::size_t outputs = 0;
  while (node.wantsOutput(outputs)) ++outputs;
  Shape shape = dimsOf(input);
  const Dim extent = shape[axis];
  if (node.opset() >= 18 && node.hasAttribute("num_outputs")) {
    KILN_ASSIGN(std::int64_t count, node.integer("num_outputs", 0));
    if (count != static_cast<std::int64_t>(outputs))
      return invalid("num_outputs is not the number of outputs");
  }
  if (!given) {
    if (outputs == 0) return invalid("no outputs");
    // Equal parts, the last one smaller if need be.
    const auto count = static_cast<std::int64_t>(outputs);
    const Dim part = *ir::ceilDiv(extent, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const Dim left = extent - part * Dim(i);
      const auto range = node.rangeOf(left - part);
      if (i + 1 < count && !extent.isStatic() && (!range || range->min < 0))
        return node.undecided("how " + node.describe(extent) + " splits into " + std::to_string(count) +
                              " parts");
      if (extent.isStatic())
        parts.push_back(std::max<std::int64_t>(0, std::min(part.value(), left.value())));
      else
        parts.push_back(i + 1 < count ? part : left);
    }
  }
  Dim sum = 0;
  for (const Dim& part : parts) {
    const auto range = node.rangeOf(part);
    if (!range || range->min < 0) return invalid("a part is negative");
    sum = sum + part;
  }
  if (!(sum == extent)) {
    if (sum.isStatic() && extent.isStatic())
      return invalid("the parts do not add up to the dimension of " + extent.text());
    return node.undecided("whether the parts add up to " + node.describe(extent));
  }
  Values results;
  Shape offsets(shape.size());
  const Dims strides(shape.size(), 1);
  for (const Dim& part : parts) {
    shape[axis] = part;
    KILN_ASSIGN(Value result, node.symbolicSlice(input, offsets, strides, shape));
    results.push_back(result);
    offsets[axis] = offsets[axis] + part;
  }
  return results;
}

Result<Values> concat(NodeContext& node) {
  KILN_ASSIGN(Value first, node.input(0));
  if (!node.hasAttribute("axis")) return invalid("attribute 'axis' is missing");
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", 0));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(first)));
  Values inputs;
  for (std::size_t i = 0; i < node.inputCount(); ++i) {
    KILN_ASSIGN(Value input, node.input(i));
    // Empty parts of shape computations add nothing.
    if (rankOf(input) != rankOf(first) || shapeOf(input)[axis] != 0) inputs.push_back(input);
  }
  if (inputs.empty()) return Values{first};
  if (inputs.size() == 1) return Values{inputs[0]};
  KILN_ASSIGN(Value result, node.concat(inputs, axis));
  return Values{result};
}

Result<Values> gather(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value indices, node.input(1));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", 0));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(input)));
  KILN_TRY(checkIndices(node, indices, dimsOf(input)[axis]));
  KILN_ASSIGN(Value result, node.gather(input, indices, axis));
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "Concat", 6, kMaxOpset, concat},
    {"", "Gather", 6, kMaxOpset, gather},
    {"", "Slice", 6, kMaxOpset, slice},
    {"", "Split", 6, kMaxOpset, split},
};

}  // namespace

std::span<const Operator> sliceOperators() {
  return kRows;
}

}  // namespace kiln::onnx
