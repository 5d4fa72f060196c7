// Conv, ConvTranspose and the causal convolution that carries its state along.
#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/onnx/formula/window.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/shared.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

// The kernel's extents: the filter's last dimensions, which kernel_shape must repeat.
Result<Dims> kernelOf(NodeContext& node, Value input, Value filter) {
  KILN_ASSIGN(std::size_t rank, spatialRank(input));
  if (rankOf(filter) != rankOf(input)) return invalid("input and filter differ in rank");
  const Shape shape = dimsOf(filter);
  if (!ir::isStatic(shape))
    return fail(Code::kUnimplemented, "a filter whose shape is known at run time only is not served");
  const Dims kernel(llvm::ArrayRef(ir::numbers(shape)).take_back(rank));
  KILN_ASSIGN(Dims stated, node.integers("kernel_shape", kernel));
  if (stated != kernel)
    return invalid("kernel_shape is " + shapeText(stated) + ", the filter's is " + shapeText(kernel));
  return kernel;
}

Result<Values> conv(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value filter, node.input(1));
  KILN_ASSIGN(Value result,
              convolutionOf(node, input, filter, node.hasInput(2) ? node.inputs()[2] : Value()));
  return Values{result};
}

// What ConvTranspose cuts off its full result; negative numbers add positions that only the bias reaches.
struct Cut {
  std::int64_t before = 0, after = 0;
};

Result<std::vector<Cut>> readCuts(NodeContext& node, llvm::ArrayRef<std::int64_t> kernel,
                                  llvm::ArrayRef<Dim> spatial, llvm::ArrayRef<std::int64_t> strides,
                                  llvm::ArrayRef<std::int64_t> dilations) {
  const std::size_t rank = spatial.size();
  KILN_ASSIGN(Dims outputPadding, node.integers("output_padding", Dims(rank, 0)));
  KILN_ASSIGN(Dims outputShape, node.integers("output_shape", {}));
  KILN_ASSIGN(Dims pads, node.integers("pads", Dims(2 * rank, 0)));
  KILN_ASSIGN(std::string autoPad, node.text("auto_pad", "NOTSET"));
  // Some exporters state the batch and the channels too.
  if (outputShape.size() == rank + 2) outputShape.erase(outputShape.begin(), outputShape.begin() + 2);
  if (outputPadding.size() != rank || pads.size() != 2 * rank ||
      (!outputShape.empty() && outputShape.size() != rank))
    return invalid("output_padding, output_shape or pads do not fit a " + std::to_string(rank) + "-D window");
  const bool upper = autoPad == "SAME_UPPER", same = upper || autoPad == "SAME_LOWER";
  if (!same && autoPad != "NOTSET" && autoPad != "VALID" && !autoPad.empty())
    return invalid("auto_pad is '" + autoPad + "'");
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < rank; ++i) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    for (std::int64_t value :
         {strides[i], dilations[i], pads[i] + 1, pads[rank + i] + 1, outputPadding[i] + 1})
      if (value < 1 || value > kMost) return invalid("absurd strides, dilations, pads or output_padding");
    // The full result is stride * (input - 1) + reach.
    const std::int64_t reach = (kernel[i] - 1) * dilations[i] + 1;
    std::optional<std::int64_t> total;
    if (!outputShape.empty()) {
      if (!spatial[i].isStatic())
        return fail(Code::kUnimplemented,
                    "output_shape needs an input whose extents are known at compile time");
      if (outputShape[i] < 1 || outputShape[i] > kMost) return invalid("absurd output_shape");
      total = strides[i] * (spatial[i].value() - 1) + outputPadding[i] + reach - outputShape[i];
    } else if (same) {
      total = outputPadding[i] + reach - strides[i];
    }
    if (!total)
      cuts.push_back(
          {autoPad == "VALID" ? 0 : pads[i], (autoPad == "VALID" ? 0 : pads[rank + i]) - outputPadding[i]});
    else if (*total <= 0)
      cuts.push_back({0, *total - outputPadding[i]});
    else
      cuts.push_back({upper ? *total / 2 : *total - *total / 2,
                      (upper ? *total - *total / 2 : *total / 2) - outputPadding[i]});
  }
  return cuts;
}

// [C, M / group, K...] as the filter of the convolution that goes the other way: [M, C / group, K...],
// mirrored.
Result<Value> transposedFilter(NodeContext& node, Value filter, std::int64_t group) {
  Dims shape(ir::numbers(dimsOf(filter)));
  if (group < 1 || shape[0] % group) return invalid("group does not divide the channels");
  const std::int64_t rank = rankOf(filter), in = shape[0] / group, out = shape[1];
  Dims split{group, in, out}, permutation{0, 2, 1}, joined{group * out, in};
  Dims offsets{0, 0}, strides{1, 1};
  for (std::int64_t i = 2; i < rank; ++i) {
    split.push_back(shape[i]);
    permutation.push_back(i + 1);
    joined.push_back(shape[i]);
    offsets.push_back(shape[i] - 1);
    strides.push_back(shape[i] > 1 ? -1 : 1);
  }
  const Term result = Term(node, filter).reshape(split).transpose(permutation).reshape(joined);
  if (!result.ok()) return fail(result.value().error());
  return node.slice(*result.value(), offsets, strides, joined);
}

// The input spread out by the strides and padded, under the mirrored filter.
Result<Values> convTranspose(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value filter, node.input(1));
  KILN_ASSIGN(Dims kernel, kernelOf(node, input, filter));
  const std::size_t rank = kernel.size();
  KILN_ASSIGN(std::int64_t group, node.integer("group", 1));
  KILN_ASSIGN(Dims strides, node.integers("strides", Dims(rank, 1)));
  KILN_ASSIGN(Dims dilations, node.integers("dilations", Dims(rank, 1)));
  if (strides.size() != rank || dilations.size() != rank) return invalid("strides or dilations do not fit");
  const Shape shape = dimsOf(input);
  KILN_ASSIGN(std::vector<Cut> cuts,
              readCuts(node, kernel, llvm::ArrayRef(shape).drop_front(2), strides, dilations));
  Dims low{0, 0}, high{0, 0}, interior{0, 0}, offsets{0, 0}, ones(rank + 2, 1);
  bool cropped = false;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t around = (kernel[i] - 1) * dilations[i];
    const std::int64_t before = around - cuts[i].before, after = around - cuts[i].after;
    low.push_back(std::max<std::int64_t>(0, before));
    high.push_back(std::max<std::int64_t>(0, after));
    interior.push_back(strides[i] - 1);
    offsets.push_back(std::max<std::int64_t>(0, -before));
    cropped |= before < 0 || after < 0;
  }
  Value spread = input;
  auto any = [](const Dims& amounts) { return llvm::any_of(amounts, [](std::int64_t a) { return a != 0; }); };
  if (any(interior) || cropped) {
    KILN_ASSIGN(spread, node.pad(ir::PadMode::Constant, input, node.scalar(elementOf(input), 0), low, high,
                                 interior));
    low.assign(rank + 2, 0);
    high.assign(rank + 2, 0);
  }
  if (cropped) {
    Shape sizes = dimsOf(spread);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t around = (kernel[i] - 1) * dilations[i];
      sizes[2 + i] =
          sizes[2 + i] - Dim(offsets[2 + i]) - Dim(std::max<std::int64_t>(0, cuts[i].after - around));
      if (sizes[2 + i].isStatic() && sizes[2 + i].value() < 1) return invalid("the pads leave no result");
    }
    KILN_ASSIGN(spread, node.slice(spread, offsets, ones, sizes));
  }
  KILN_ASSIGN(filter, transposedFilter(node, filter, group));
  Dims pads(llvm::ArrayRef(low).drop_front(2));
  pads.append(high.begin() + 2, high.end());
  KILN_ASSIGN(Value result, node.conv(spread, filter, node.hasInput(2) ? node.inputs()[2] : Value(),
                                      {Dims(rank, 1), pads, dilations}, group));
  return Values{result};
}

// past ++ input under a depthwise filter; the last k - 1 positions are the next state.
Result<Values> causalConv(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value filter, node.input(1));
  KILN_ASSIGN(std::string activation, node.text("activation", "none"));
  if (activation != "none" && activation != "silu" && activation != "swish")
    return invalid("activation is '" + activation + "'");
  if (rankOf(input) != 3 || rankOf(filter) != 3) return invalid("input and weight have rank 3");
  const Shape shape = dimsOf(input), weights = dimsOf(filter);
  if (!weights[2].isStatic() || !shape[1].isStatic())
    return fail(Code::kUnimplemented, "the channels and the kernel must be known at compile time");
  const std::int64_t carried = weights[2].value() - 1;
  Value whole = input;
  if (carried > 0) {
    const Shape state{shape[0], shape[1], Dim(carried)};
    Value past;
    if (node.hasInput(3)) {
      past = node.inputs()[3];
      if (dimsOf(past) != state) return invalid("past_state is not [batch, channels, k - 1]");
    } else {
      KILN_ASSIGN(past, node.filled(elementOf(input), state, 0));
    }
    KILN_ASSIGN(whole, node.concat({past, input}, 2));
  }
  KILN_ASSIGN(Value result, node.conv(whole, filter, node.hasInput(2) ? node.inputs()[2] : Value(),
                                      {{1}, {0, 0}, {1}}, shape[1].value()));
  if (activation != "none") {
    const Term x(node, result);
    KILN_ASSIGN(result, (x * x.unary(ir::UnaryKind::Sigmoid)).value());
  }
  Values results{result};
  if (node.wantsOutput(1)) {
    if (carried == 0) return fail(Code::kUnimplemented, "a state without elements is not served");
    KILN_ASSIGN(Value state, node.symbolicSlice(whole, {Dim(0), Dim(0), shape[2]}, {1, 1, 1},
                                                Shape{shape[0], shape[1], Dim(carried)}));
    results.push_back(state);
  }
  return results;
}

constexpr Operator kRows[] = {
    {"", "CausalConvWithState", 27, kMaxOpset, causalConv},
    {"", "Conv", 6, kMaxOpset, conv},
    {"", "ConvTranspose", 6, kMaxOpset, convTranspose},
};

}  // namespace

Result<Value> convolutionOf(NodeContext& node, Value input, Value filter, Value bias) {
  KILN_ASSIGN(Dims kernel, kernelOf(node, input, filter));
  KILN_ASSIGN(std::int64_t group, node.integer("group", 1));
  const Shape shape = dimsOf(input);
  KILN_ASSIGN(Window window, readWindow(node, kernel, llvm::ArrayRef(shape).drop_front(2), false));
  return node.conv(input, filter, bias, window.slide(), group);
}

std::span<const Operator> convolutionOperators() {
  return kRows;
}

}  // namespace kiln::onnx
