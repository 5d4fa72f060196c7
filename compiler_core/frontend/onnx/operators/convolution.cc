// Conv, one- and two-dimensional.
#include "compiler_core/frontend/onnx/operators.h"
#include "compiler_core/frontend/onnx/operators/shared.h"
#include "compiler_core/frontend/onnx/window.h"

namespace kiln::onnx {
namespace {

Result<Values> conv(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value filter, node.input(1));
  KILN_ASSIGN(Value result,
              convolutionOf(node, input, filter, node.hasInput(2) ? node.inputs()[2] : Value()));
  return Values{result};
}

constexpr Operator kRows[] = {{"", "Conv", 6, kMaxOpset, conv}};

}  // namespace

Result<Value> convolutionOf(NodeContext& node, Value input, Value filter, Value bias) {
  const std::int64_t rank = rankOf(input);
  if (rankOf(filter) != rank || rank < 3)
    return fail(Code::kInvalidArgument, "input and filter differ in rank");
  auto kernel = shapeOf(filter).drop_front(2);
  KILN_ASSIGN(Dims stated, node.integers("kernel_shape", kernel));
  if (llvm::ArrayRef(stated) != kernel)
    return fail(Code::kInvalidArgument,
                "kernel_shape is " + shapeText(stated) + ", the filter's is " + shapeText(kernel));
  KILN_ASSIGN(std::int64_t group, node.integer("group", 1));
  KILN_ASSIGN(Window window, readWindow(node, kernel, shapeOf(input).drop_front(2), false));
  KILN_ASSIGN(input, asPlanes(node, input));
  KILN_ASSIGN(filter, asPlanes(node, filter));
  KILN_ASSIGN(Value result,
              node.conv(input, filter, bias, window.strides, window.pads, window.dilations, group));
  return fromPlanes(node, result, rank);
}

std::span<const Operator> convolutionOperators() {
  return kRows;
}

}  // namespace kiln::onnx
