// Pooling over windows and over whole planes.
#include "compiler_core/frontend/onnx/operators.h"
#include "compiler_core/frontend/onnx/window.h"

namespace kiln::onnx {
namespace {

Result<Values> pool(NodeContext& node, ir::PoolKind kind, bool countPadding) {
  KILN_ASSIGN(Value input, node.input(0));
  const std::int64_t rank = rankOf(input);
  KILN_ASSIGN(Dims kernel, node.integers("kernel_shape", {}));
  if (rank < 3) return fail(Code::kInvalidArgument, "the input has no spatial dimension");
  KILN_ASSIGN(Window window, readWindow(node, kernel, shapeOf(input).drop_front(2), true));
  // The divisor would have to count declared padding but not what ceil_mode adds.
  if (countPadding && (window.extra[0] || window.extra[1]))
    return fail(Code::kUnimplemented,
                "count_include_pad with a window cut off by ceil_mode is not served yet");
  KILN_ASSIGN(input, asPlanes(node, input));
  KILN_ASSIGN(Value result, node.pool(kind, input, window.kernel, window.strides, window.pads,
                                      window.dilations, countPadding));
  KILN_ASSIGN(result, fromPlanes(node, result, rank));
  return Values{result};
}

Result<Values> maxPool(NodeContext& node) {
  KILN_TRY(node.integer("storage_order", 0));  // matters for the indices only
  if (node.wantsOutput(1)) return fail(Code::kUnimplemented, "the second output (indices) is not served yet");
  return pool(node, ir::PoolKind::Max, false);
}

Result<Values> averagePool(NodeContext& node) {
  KILN_ASSIGN(std::int64_t count, node.integer("count_include_pad", 0));
  return pool(node, ir::PoolKind::Average, count != 0);
}

Result<Dims> planeAxes(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  if (rankOf(input) < 3) return fail(Code::kInvalidArgument, "the input has no spatial dimension");
  Dims axes;
  for (std::int64_t axis = 2; axis < rankOf(input); ++axis) axes.push_back(axis);
  return axes;
}

Result<Values> globalAverage(NodeContext& node) {
  KILN_ASSIGN(Dims axes, planeAxes(node));
  KILN_ASSIGN(Value result, node.mean(node.inputs()[0], axes, true));
  return Values{result};
}

Result<Values> globalMax(NodeContext& node) {
  KILN_ASSIGN(Dims axes, planeAxes(node));
  KILN_ASSIGN(Value result, node.reduce(ir::ReduceKind::Max, node.inputs()[0], axes, true));
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "AveragePool", 6, kMaxOpset, averagePool},
    {"", "GlobalAveragePool", 6, kMaxOpset, globalAverage},
    {"", "GlobalMaxPool", 6, kMaxOpset, globalMax},
    {"", "MaxPool", 6, kMaxOpset, maxPool},
};

}  // namespace

std::span<const Operator> poolingOperators() {
  return kRows;
}

}  // namespace kiln::onnx
