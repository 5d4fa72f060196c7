#include "compiler_core/frontend/onnx/window.h"

namespace kiln::onnx {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

struct Axis {
  std::int64_t kernel, stride, dilation, before, after, extra = 0;
};

Status checkAxis(const Axis& axis) {
  for (std::int64_t value : {axis.kernel, axis.stride, axis.dilation})
    if (value < 1 || value > kMaxExtent) return invalid("kernel, strides and dilations must be positive");
  for (std::int64_t value : {axis.before, axis.after})
    if (value < 0 || value > kMaxExtent) return invalid("pads must not be negative");
  return {};
}

// SAME: as many results as ceil(input / stride); the odd element of padding goes after (UPPER) or before
// (LOWER).
void padSame(Axis& axis, std::int64_t input, bool upper) {
  std::int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
  std::int64_t results = (input + axis.stride - 1) / axis.stride;
  std::int64_t total = std::max<std::int64_t>(0, (results - 1) * axis.stride + reach - input);
  axis.before = upper ? total / 2 : total - total / 2;
  axis.after = total - axis.before;
}

// ceil_mode: a last window that starts inside the input or its leading padding counts although it ends
// beyond.
void padCeil(Axis& axis, std::int64_t input) {
  std::int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
  std::int64_t room = input + axis.before + axis.after - reach;
  if (room < 0 || room % axis.stride == 0) return;
  std::int64_t start = (room / axis.stride + 1) * axis.stride;
  if (start >= input + axis.before) return;
  axis.extra = start + reach - (input + axis.before + axis.after);
}

}  // namespace

Result<Window> readWindow(NodeContext& node, llvm::ArrayRef<std::int64_t> kernel,
                          llvm::ArrayRef<std::int64_t> spatial, bool ceil) {
  const std::size_t rank = spatial.size();
  if (rank != 1 && rank != 2)
    return fail(Code::kUnimplemented,
                std::to_string(rank) + "-D windows are not served yet; 1-D and 2-D are");
  if (kernel.size() != rank)
    return invalid("the kernel has rank " + std::to_string(kernel.size()) + ", the input " +
                   std::to_string(rank));
  KILN_ASSIGN(Dims strides, node.integers("strides", Dims(rank, 1)));
  KILN_ASSIGN(Dims dilations, node.integers("dilations", Dims(rank, 1)));
  KILN_ASSIGN(std::string autoPad, node.text("auto_pad", "NOTSET"));
  KILN_ASSIGN(Dims pads, node.integers("pads", Dims(2 * rank, 0)));
  KILN_ASSIGN(std::int64_t ceilMode, ceil ? node.integer("ceil_mode", 0) : Result<std::int64_t>(0));
  if (strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank)
    return invalid("strides, dilations or pads do not fit a " + std::to_string(rank) + "-D window");
  if (autoPad == "VALID") pads.assign(2 * rank, 0);
  const bool upper = autoPad == "SAME_UPPER", lower = autoPad == "SAME_LOWER";
  if (!upper && !lower && autoPad != "NOTSET" && autoPad != "VALID" && !autoPad.empty())
    return invalid("auto_pad is '" + autoPad + "'");

  Window window;
  Dims before, after;
  auto add = [&](const Axis& axis) {
    window.kernel.push_back(axis.kernel);
    window.strides.push_back(axis.stride);
    window.dilations.push_back(axis.dilation);
    window.extra.push_back(axis.extra);
    before.push_back(axis.before);
    after.push_back(axis.after + axis.extra);
  };
  if (rank == 1) add({1, 1, 1, 0, 0});
  for (std::size_t i = 0; i < rank; ++i) {
    Axis axis{kernel[i], strides[i], dilations[i], pads[i], pads[rank + i]};
    KILN_TRY(checkAxis(axis));
    if (upper || lower) padSame(axis, spatial[i], upper);
    if (ceilMode) padCeil(axis, spatial[i]);
    add(axis);
  }
  window.pads = {before[0], before[1], after[0], after[1]};
  return window;
}

Result<Value> asPlanes(NodeContext& node, Value value) {
  auto shape = shapeOf(value);
  if (shape.size() == 4) return value;
  if (shape.size() != 3)
    return fail(Code::kUnimplemented,
                "rank " + std::to_string(shape.size()) + " is not served yet; 3 and 4 are");
  return node.reshape(value, {shape[0], shape[1], 1, shape[2]});
}

Result<Value> fromPlanes(NodeContext& node, Value value, std::int64_t rank) {
  auto shape = shapeOf(value);
  return rank == 4 ? Result<Value>(value) : node.reshape(value, {shape[0], shape[1], shape[3]});
}

}  // namespace kiln::onnx
