// Pad and CenterCropPad.
#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

// Cuts where an amount is negative, then pads.
Result<Value> padded(NodeContext& node, ir::PadMode mode, Value input, Value value,
                     llvm::ArrayRef<std::int64_t> low, llvm::ArrayRef<std::int64_t> high) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  Dims offsets, before, after;
  Shape sizes = dimsOf(input);
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (std::min(low[i], high[i]) < -kMost || std::max(low[i], high[i]) > kMost)
      return invalid("absurd pads");
    offsets.push_back(std::max<std::int64_t>(0, -low[i]));
    before.push_back(std::max<std::int64_t>(0, low[i]));
    after.push_back(std::max<std::int64_t>(0, high[i]));
    sizes[i] = sizes[i] - Dim(offsets[i] + std::max<std::int64_t>(0, -high[i]));
    if (sizes[i].isStatic() && sizes[i].value() < 0)
      return invalid("negative pads cut off more than dimension " + std::to_string(i) + " has");
  }
  if (sizes != dimsOf(input)) {
    KILN_ASSIGN(input, node.slice(input, offsets, Dims(low.size(), 1), sizes));
  }
  auto nothing = [](const Dims& amounts) {
    return llvm::all_of(amounts, [](std::int64_t a) { return a == 0; });
  };
  if (nothing(before) && nothing(after)) return input;
  return node.pad(mode, input, value, before, after);
}

Result<Values> pad(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  const std::int64_t rank = rankOf(input);
  const mlir::Type element = elementOf(input);
  KILN_ASSIGN(std::string name, node.text("mode", "constant"));
  const auto mode = ir::symbolizePadMode(name);
  if (!mode || (*mode == ir::PadMode::Wrap && node.opset() < 19)) return invalid("mode is '" + name + "'");
  Dims pads, axes;
  Value value = node.scalar(element, 0);
  if (node.opset() < 11) {
    KILN_ASSIGN(pads, node.integers("pads", {}));
    KILN_ASSIGN(float number, node.real("value", 0));
    value = node.scalar(element, number);
  } else {
    KILN_ASSIGN(pads, node.constantInput(1, "pads of Pad"));
    if (node.hasInput(2)) {
      KILN_ASSIGN(value, node.reshape(node.inputs()[2], {}));
    }
  }
  for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
  if (node.opset() >= 18 && node.hasInput(3)) {
    KILN_ASSIGN(axes, node.constantInput(3, "axes of Pad"));
    KILN_TRY(normalAxes(axes, rank));  // inside, none twice
  }
  if (pads.size() != 2 * axes.size()) return invalid("pads and axes do not fit together");
  Dims low(rank, 0), high(rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    KILN_ASSIGN(std::int64_t axis, normalAxis(axes[i], rank));
    low[axis] = pads[i];
    high[axis] = pads[axes.size() + i];
  }
  KILN_ASSIGN(Value result, padded(node, *mode, input, value, low, high));
  return Values{result};
}

// The middle of dimension `axis`, which symbols give, cut or filled up with zeros to `target`.
Result<Value> centred(NodeContext& node, Value input, std::int64_t axis, std::int64_t target) {
  Shape shape = dimsOf(input);
  const Dim extent = shape[axis];
  const auto range = node.rangeOf(extent);
  if (range && range->min >= target) {
    Shape offsets(shape.size(), Dim(0));
    offsets[axis] = *ir::floorDiv(extent - Dim(target), 2);
    shape[axis] = Dim(target);
    return node.symbolicSlice(input, offsets, Dims(shape.size(), 1), shape);
  }
  if (!range || range->max > target)
    return node.undecided("whether a dimension of " + node.describe({extent}) + " is cut or filled up to " +
                          std::to_string(target));
  const Dim missing = Dim(target) - extent;
  shape[axis] = *ir::floorDiv(missing, 2);
  KILN_ASSIGN(Value before, node.filled(elementOf(input), shape, 0));
  shape[axis] = missing - shape[axis];
  KILN_ASSIGN(Value after, node.filled(elementOf(input), shape, 0));
  return node.concat({before, input, after}, axis);
}

Result<Values> centerCropPad(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  const std::int64_t rank = rankOf(input);
  const Shape shape = dimsOf(input);
  Dims all;
  for (std::int64_t i = 0; i < rank; ++i) all.push_back(i);
  KILN_ASSIGN(Dims axes, node.integers("axes", all));
  KILN_TRY(normalAxes(axes, rank));  // inside, none twice
  KILN_ASSIGN(Dims target, node.constantInput(1, "the shape of CenterCropPad"));
  if (target.size() != axes.size()) return invalid("shape and axes differ in length");
  Dims low(rank, 0), high(rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    KILN_ASSIGN(std::int64_t axis, normalAxis(axes[i], rank));
    if (target[i] < 0) return invalid("the shape has a negative dimension");
    if (!shape[axis].isStatic()) {
      KILN_ASSIGN(input, centred(node, input, axis, target[i]));
      continue;
    }
    // The odd element is cut or added at the end.
    const std::int64_t difference = target[i] - shape[axis].value();
    low[axis] = difference < 0 ? -(-difference / 2) : difference / 2;
    high[axis] = difference - low[axis];
  }
  KILN_ASSIGN(Value result,
              padded(node, ir::PadMode::Constant, input, node.scalar(elementOf(input), 0), low, high));
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "CenterCropPad", 18, kMaxOpset, centerCropPad},
    {"", "Pad", 6, kMaxOpset, pad},
};

}  // namespace

std::span<const Operator> padOperators() {
  return kRows;
}

}  // namespace kiln::onnx
