// Convolutions with a sum and an activation behind them, and those of images whose channels come last.
#include "compiler_core/frontend/onnx/operators/contrib/activation.h"
#include "compiler_core/frontend/onnx/operators/contrib/contrib.h"
#include "compiler_core/frontend/onnx/operators/shared.h"

namespace kiln::onnx {
namespace {

// [N, H, W, C] as [N, C, H, W] or the other way round.
Result<Value> channelsMoved(NodeContext& node, Value image, bool toSecond) {
  const std::int64_t rank = rankOf(image);
  if (rank < 3) return fail(Code::kInvalidArgument, "the input has no spatial dimension");
  Dims order;
  for (std::int64_t i = 0; i < rank; ++i) order.push_back(i);
  if (toSecond)
    std::rotate(order.begin() + 1, order.end() - 1, order.end());
  else
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return node.transpose(image, order);
}

template <bool channelsLast>
Result<Values> fusedConv(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value filter, node.input(1));
  KILN_ASSIGN(std::string activation, node.text("activation", ""));
  KILN_ASSIGN(std::vector<float> parameters, node.reals("activation_params", {}));
  if (channelsLast) {
    KILN_ASSIGN(input, channelsMoved(node, input, true));
  }
  KILN_ASSIGN(Value result,
              convolutionOf(node, input, filter, node.hasInput(2) ? node.inputs()[2] : Value()));
  if (channelsLast) {
    KILN_ASSIGN(result, channelsMoved(node, result, false));
  }
  if (node.hasInput(3)) {
    if (dimsOf(node.inputs()[3]) != dimsOf(result))
      return fail(Code::kInvalidArgument, "Z has not the result's shape");
    KILN_ASSIGN(result, node.binary(ir::BinaryKind::Add, result, node.inputs()[3]));
  }
  KILN_ASSIGN(result, activated(node, result, activation, parameters));
  return Values{result};
}

Result<Values> nhwcMaxPool(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(input, channelsMoved(node, input, true));
  KILN_ASSIGN(Value result, maxPoolOf(node, input));
  KILN_ASSIGN(result, channelsMoved(node, result, false));
  return Values{result};
}

constexpr Operator kRows[] = {
    {kMicrosoft, "FusedConv", 1, 1, fusedConv<false>},
    {kMicrosoft, "NhwcConv", 1, 1, fusedConv<true>},
    {kMicrosoft, "NhwcFusedConv", 1, 1, fusedConv<true>},
    {kMicrosoft, "NhwcMaxPool", 1, 1, nhwcMaxPool},
};

}  // namespace

std::span<const Operator> contribConvolutionOperators() {
  return kRows;
}

}  // namespace kiln::onnx
