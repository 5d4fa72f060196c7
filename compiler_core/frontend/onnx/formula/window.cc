#include "compiler_core/frontend/onnx/formula/window.h"

namespace kiln::onnx {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

struct Axis {
  std::int64_t kernel, stride, dilation, before, after, extra = 0;
  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
};

Status checkAxis(const Axis& axis) {
  for (std::int64_t value : {axis.kernel, axis.stride, axis.dilation})
    if (value < 1 || value > kMaxExtent) return invalid("kernel, strides and dilations must be positive");
  for (std::int64_t value : {axis.before, axis.after})
    if (value < 0 || value > kMaxExtent) return invalid("pads must not be negative");
  return {};
}

// The remainder of `dim` by `stride`, where it is the same for every value of the symbols.
std::optional<std::int64_t> remainder(const Dim& dim, std::int64_t stride) {
  auto rest = ir::modulo(dim, stride);
  return rest && rest->isStatic() ? std::optional(rest->value()) : std::nullopt;
}

// SAME: as many results as ceil(input / stride); the odd element of padding goes after (UPPER) or before
// (LOWER).
Status padSame(const GraphBuilder& build, Axis& axis, const Dim& input, bool upper) {
  auto rest = remainder(input, axis.stride);
  if (!rest)
    return fail(Code::kUnimplemented, "auto_pad over the dimension " + build.describe(input) +
                                          " with a stride of " + std::to_string(axis.stride) +
                                          ": its padding is not known at compile time");
  const std::int64_t lacking = *rest == 0 ? 0 : axis.stride - *rest;
  const std::int64_t total = std::max<std::int64_t>(0, axis.reach() - axis.stride + lacking);
  axis.before = upper ? total / 2 : total - total / 2;
  axis.after = total - axis.before;
  return {};
}

// ceil_mode: a last window that starts inside the input or its leading padding counts although it ends
// beyond.
Status padCeil(const GraphBuilder& build, Axis& axis, const Dim& input) {
  const Dim room = input + Dim(axis.before + axis.after - axis.reach());
  if (room.isStatic() && room.value() < 0) return {};
  // The room left behind the last whole window would let another one begin at the input's end or later.
  auto begins = [&](std::int64_t rest) { return axis.after - axis.reach() - rest + axis.stride < 0; };
  if (auto rest = remainder(room, axis.stride)) {
    if (*rest != 0 && begins(*rest)) axis.extra = axis.stride - *rest;
    return {};
  }
  if (!begins(1))
    return fail(Code::kUnimplemented, "ceil_mode over the dimension " + build.describe(input) +
                                          " with this stride and padding: whether a last "
                                          "window counts is not known at compile time");
  axis.extra = axis.stride - 1;
  return {};
}

}  // namespace

GraphBuilder::Slide Window::slide() const {
  Dims pads(before);
  for (auto [end, more] : llvm::zip_equal(after, extra)) pads.push_back(end + more);
  return {strides, std::move(pads), dilations};
}

Result<std::size_t> spatialRank(Value input) {
  const std::int64_t rank = rankOf(input) - 2;
  if (rank < 1) return invalid("the input has no spatial dimension");
  if (rank > 3)
    return fail(Code::kUnimplemented, std::to_string(rank) + "-D windows are not served; 1-D to 3-D are");
  return static_cast<std::size_t>(rank);
}

Result<Window> readWindow(NodeContext& node, llvm::ArrayRef<std::int64_t> kernel, llvm::ArrayRef<Dim> spatial,
                          bool ceil) {
  const std::size_t rank = spatial.size();
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
  const bool upper = autoPad == "SAME_UPPER", lower = autoPad == "SAME_LOWER";
  if (!upper && !lower && autoPad != "NOTSET" && autoPad != "VALID" && !autoPad.empty())
    return invalid("auto_pad is '" + autoPad + "'");
  if (upper || lower || autoPad == "VALID") pads.assign(2 * rank, 0);

  Window window;
  for (std::size_t i = 0; i < rank; ++i) {
    Axis axis{kernel[i], strides[i], dilations[i], pads[i], pads[rank + i]};
    KILN_TRY(checkAxis(axis));
    if (upper || lower) KILN_TRY(padSame(node, axis, spatial[i], upper));
    if (ceilMode) KILN_TRY(padCeil(node, axis, spatial[i]));
    window.kernel.push_back(axis.kernel);
    window.strides.push_back(axis.stride);
    window.dilations.push_back(axis.dilation);
    window.before.push_back(axis.before);
    window.after.push_back(axis.after);
    window.extra.push_back(axis.extra);
  }
  return window;
}

Shape windowResult(const Window& window, llvm::ArrayRef<Dim> spatial) {
  Shape result;
  for (std::size_t i = 0; i < window.rank(); ++i) {
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const Dim room = spatial[i] + Dim(window.before[i] + window.after[i] + window.extra[i] - reach);
    result.push_back(*ir::floorDiv(room, window.strides[i]) + Dim(1));
  }
  return result;
}

}  // namespace kiln::onnx
