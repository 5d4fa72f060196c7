// Parts of tensors: Slice, Split, Concat, Gather.
#include "compiler_core/frontend/onnx/operators.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

struct Range {
  std::int64_t offset, size;
};

// Python's slice rule: negative positions count from the end, everything is clamped into the dimension.
Range sliceRange(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  auto position = [&](std::int64_t p) {
    return p < 0 ? (p < -extent ? -1 : p + extent) : std::min(p, extent);
  };
  // Before the first element means element 0 forwards, and "none left" backwards.
  std::int64_t first = position(start), last = position(end);
  if (step > 0) {
    first = std::max<std::int64_t>(first, 0);
    last = std::max<std::int64_t>(last, 0);
    return {first, last > first ? (last - first - 1) / step + 1 : 0};
  }
  first = std::min(first, extent - 1);
  last = std::max<std::int64_t>(last, -1);
  // -step overflows for the smallest integer; one element is all such a step can take.
  std::int64_t stride =
      step == std::numeric_limits<std::int64_t>::min() ? std::numeric_limits<std::int64_t>::max() : -step;
  return {first, first > last ? (first - last - 1) / stride + 1 : 0};
}

Result<Values> slice(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  Dims starts, ends, axes, steps;
  if (node.opset() < 10) {
    KILN_ASSIGN(starts, node.integers("starts", {}));
    KILN_ASSIGN(ends, node.integers("ends", {}));
    KILN_ASSIGN(axes, node.integers("axes", {}));
  } else {
    KILN_ASSIGN(starts, node.constantInput(1, "starts of Slice"));
    KILN_ASSIGN(ends, node.constantInput(2, "ends of Slice"));
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
  Dims offsets(rankOf(input), 0), strides(rankOf(input), 1), sizes(shapeOf(input));
  Dims seen;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    KILN_ASSIGN(std::int64_t axis, normalAxis(axes[i], rankOf(input)));
    if (llvm::is_contained(seen, axis)) return invalid("an axis is named twice");
    if (steps[i] == 0) return invalid("a step is 0");
    seen.push_back(axis);
    Range range = sliceRange(starts[i], ends[i], steps[i], shapeOf(input)[axis]);
    offsets[axis] = range.size ? range.offset : 0;
    // A step that takes one element only is normalised, so that it cannot be absurd.
    strides[axis] = range.size > 1 ? steps[i] : 1;
    sizes[axis] = range.size;
  }
  KILN_ASSIGN(Value result, node.slice(input, offsets, strides, sizes));
  return Values{result};
}

Result<Values> split(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", 0));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(input)));
  KILN_ASSIGN(std::optional<Dims> sizes, node.integersByVersion("split", 1, 13));
  std::size_t outputs = 0;
  while (node.wantsOutput(outputs)) ++outputs;
  const std::int64_t extent = shapeOf(input)[axis];
  if (node.opset() >= 18 && node.hasAttribute("num_outputs")) {
    KILN_ASSIGN(std::int64_t count, node.integer("num_outputs", 0));
    if (count != static_cast<std::int64_t>(outputs))
      return invalid("num_outputs is not the number of outputs");
  }
  if (!sizes) {
    if (outputs == 0) return invalid("no outputs");
    // Equal parts, the last one smaller if need be.
    const auto count = static_cast<std::int64_t>(outputs), part = (extent + count - 1) / count;
    sizes.emplace();
    for (std::int64_t i = 0; i < count; ++i)
      sizes->push_back(std::max<std::int64_t>(0, std::min(part, extent - i * part)));
  }
  std::int64_t sum = 0;
  for (std::int64_t part : *sizes) {
    if (part < 0 || part > extent - sum)
      return invalid("the parts do not add up to the dimension of " + std::to_string(extent));
    sum += part;
  }
  if (sum != extent) return invalid("the parts do not add up to the dimension of " + std::to_string(extent));
  Values results;
  Dims offsets(rankOf(input), 0), strides(rankOf(input), 1), shape(shapeOf(input));
  for (std::int64_t part : *sizes) {
    shape[axis] = part;
    KILN_ASSIGN(Value result, node.slice(input, offsets, strides, shape));
    results.push_back(result);
    offsets[axis] += part;
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
  if (auto known = NodeContext::constantIntegers(indices))
    for (std::int64_t index : *known)
      if (index < -shapeOf(input)[axis] || index >= shapeOf(input)[axis])
        return invalid("index " + std::to_string(index) + " is outside the dimension of " +
                       std::to_string(shapeOf(input)[axis]));
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
