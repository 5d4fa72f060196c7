// convolution: any order of dimensions becomes kiln.conv's between transposes.
#include "compiler_core/frontend/stablehlo/operations/operations.h"
#include "compiler_core/frontend/stablehlo/operations/shape.h"

namespace kiln::stablehlo {
namespace {

// The two dimensions that are not spatial, and the spatial ones.
struct Layout {
  std::int64_t first = 0, second = 0;
  Dims spatial;

  Dims order() const {
    Dims all{first, second};
    llvm::append_range(all, spatial);
    return all;
  }
};

struct Convolution {
  Layout input, kernel, output;
  Dims strides, low, high, lhsDilations, rhsDilations, reversed;
  std::int64_t featureGroups = 1, batchGroups = 1;
};

Result<Layout> layoutOf(OperationContext& op, std::string_view first, std::string_view second,
                        std::string_view spatial, std::int64_t rank) {
  Layout layout;
  KILN_ASSIGN(layout.first, op.dimension(first, rank));
  KILN_ASSIGN(layout.second, op.dimension(second, rank));
  KILN_ASSIGN(layout.spatial, op.dimensions(spatial, rank));
  if (layout.first == layout.second || llvm::is_contained(layout.spatial, layout.first) ||
      llvm::is_contained(layout.spatial, layout.second) ||
      static_cast<std::int64_t>(layout.spatial.size()) != rank - 2)
    return invalid("the dimension numbers are no permutation");
  return layout;
}

// `values` has two entries for each spatial dimension.
Result<Convolution> readConvolution(OperationContext& op, const Dims* padding) {
  const std::int64_t rank = rankOf(op.operand(0));
  if (rank < 2 || rankOf(op.operand(1)) != rank ||
      static_cast<std::int64_t>(op.resultType().shape.size()) != rank)
    return invalid("the operands and the result have one rank of 2 or more");
  const auto spatial = static_cast<std::size_t>(rank - 2);
  Convolution conv;
  KILN_ASSIGN(conv.input, layoutOf(op, "input_batch_dimension", "input_feature_dimension",
                                   "input_spatial_dimensions", rank));
  KILN_ASSIGN(conv.kernel, layoutOf(op, "kernel_output_feature_dimension", "kernel_input_feature_dimension",
                                    "kernel_spatial_dimensions", rank));
  KILN_ASSIGN(conv.output, layoutOf(op, "output_batch_dimension", "output_feature_dimension",
                                    "output_spatial_dimensions", rank));
  KILN_ASSIGN(conv.strides, op.integers("window_strides", spatial, 1));
  KILN_ASSIGN(conv.lhsDilations, op.integers("lhs_dilation", spatial, 1));
  KILN_ASSIGN(conv.rhsDilations, op.integers("rhs_dilation", spatial, 1));
  KILN_ASSIGN(conv.featureGroups, op.integer("feature_group_count", 1));
  KILN_ASSIGN(conv.batchGroups, op.integer("batch_group_count", 1));
  KILN_ASSIGN(const Dims reversal, op.integers("window_reversal", spatial, 0));
  KILN_ASSIGN(const Dims stated, op.integers("padding", 2 * spatial, 0));
  const Dims& amounts = padding ? *padding : stated;
  for (std::size_t i = 0; i < spatial; ++i) {
    for (std::int64_t value : {conv.strides[i], conv.lhsDilations[i], conv.rhsDilations[i]})
      if (value < 1) return invalid("strides and dilations are 1 or more");
    conv.low.push_back(amounts[2 * i]);
    conv.high.push_back(amounts[2 * i + 1]);
    if (reversal[i] != 0) conv.reversed.push_back(static_cast<std::int64_t>(i) + 2);
  }
  if (conv.featureGroups < 1 || conv.batchGroups < 1) return invalid("groups are 1 or more");
  if (conv.featureGroups > 1 && conv.batchGroups > 1)
    return invalid("only one of the group counts is above 1");
  return conv;
}

// Groups of the batch become groups of the features: [g * N, C, ...] is [N, g * C, ...].
Result<Value> batchGroupsToFeatures(OperationContext& op, Value input, std::int64_t groups) {
  const Shape shape = dimsOf(input);
  const auto each = ir::exactDiv(shape[0], groups);
  if (!each && shape[0].isStatic()) return invalid("the batch does not divide into its groups");
  if (!each)
    return op.undecided("whether the batch of " + op.describe(shape[0]) + " divides into its groups");
  Shape split{groups, *each}, joined{*each, Dim(groups) * shape[1]};
  Dims order{1, 0};
  for (std::size_t i = 1; i < shape.size(); ++i) {
    split.push_back(shape[i]);
    order.push_back(static_cast<std::int64_t>(i) + 1);
    if (i > 1) joined.push_back(shape[i]);
  }
  KILN_ASSIGN(input, op.reshape(input, split));
  KILN_ASSIGN(input, op.transpose(input, order));
  return op.reshape(input, joined);
}

// Gaps between the elements, and negative padding, before kiln.conv, which pads by itself otherwise.
Result<Value> paddedInput(OperationContext& op, Value input, Convolution& conv) {
  const auto isPlain = [](std::int64_t amount) { return amount >= 0; };
  if (llvm::all_of(conv.low, isPlain) && llvm::all_of(conv.high, isPlain) &&
      llvm::all_of(conv.lhsDilations, [](std::int64_t dilation) { return dilation == 1; }))
    return input;
  Dims low{0, 0}, high{0, 0}, interior{0, 0};
  for (std::size_t i = 0; i < conv.low.size(); ++i) {
    low.push_back(std::exchange(conv.low[i], 0));
    high.push_back(std::exchange(conv.high[i], 0));
    interior.push_back(conv.lhsDilations[i] - 1);
  }
  return padAny(op, input, op.scalar(elementOf(input), 0), low, high, interior);
}

Result<Value> turned(OperationContext& op, Value value, const Dims& order) {
  return llvm::is_sorted(order) ? Result<Value>(value) : op.transpose(value, order);
}

Result<Values> convolve(OperationContext& op, Convolution conv) {
  const mlir::Type element = op.resultElement();
  const std::size_t spatial = conv.strides.size();
  if (spatial > 3)
    return unserved("a convolution over " + std::to_string(spatial) +
                    " dimensions is not served; at most 3 are");
  if (llvm::is_contained(op.resultType().shape, 0) || isEmpty(dimsOf(op.operand(0))) ||
      isEmpty(dimsOf(op.operand(1)))) {
    KILN_ASSIGN(const Dims shape, op.resultShape());
    KILN_ASSIGN(Value zeros, op.filled(element, shape, 0));
    return Values{zeros};
  }
  KILN_ASSIGN(Value input, op.cast(op.operand(0), element));
  KILN_ASSIGN(Value kernel, op.cast(op.operand(1), element));
  KILN_ASSIGN(input, turned(op, input, conv.input.order()));
  KILN_ASSIGN(kernel, turned(op, kernel, conv.kernel.order()));
  KILN_ASSIGN(kernel, reversed(op, kernel, conv.reversed));
  if (conv.batchGroups > 1) {
    KILN_ASSIGN(input, batchGroupsToFeatures(op, input, conv.batchGroups));
  }
  KILN_ASSIGN(input, paddedInput(op, input, conv));
  if (spatial == 0) {
    // A product of matrices, as a window of one element.
    Shape inputShape = dimsOf(input), kernelShape = dimsOf(kernel);
    inputShape.push_back(1);
    kernelShape.push_back(1);
    KILN_ASSIGN(input, op.reshape(input, inputShape));
    KILN_ASSIGN(kernel, op.reshape(kernel, kernelShape));
    conv.strides = conv.rhsDilations = {1};
    conv.low = conv.high = {0};
  }
  frontend::GraphBuilder::Slide slide{conv.strides, conv.low, conv.rhsDilations};
  llvm::append_range(slide.pads, conv.high);
  KILN_ASSIGN(Value result, op.conv(input, kernel, {}, slide, conv.featureGroups * conv.batchGroups));
  Shape made = dimsOf(result);
  Dims back(spatial + 2, 0);
  if (spatial == 0) {
    made.pop_back();
    KILN_ASSIGN(result, op.reshape(result, made));
  }
  for (auto [i, dim] : llvm::enumerate(conv.output.order())) back[dim] = static_cast<std::int64_t>(i);
  KILN_ASSIGN(result, turned(op, result, back));
  return Values{result};
}

Result<Values> convolution(OperationContext& op) {
  KILN_ASSIGN(Convolution conv, readConvolution(op, nullptr));
  return convolve(op, std::move(conv));
}

Result<Values> dynamicConv(OperationContext& op) {
  const std::int64_t entries = 2 * (rankOf(op.operand(0)) - 2);
  if (entries < 0) return invalid("the operand has one rank of 2 or more");
  KILN_ASSIGN(const Shape amounts, sizesIn(op, 2, "the padding", static_cast<std::size_t>(entries)));
  if (!ir::isStatic(amounts)) return op.undecided("the padding (" + op.describe(amounts) + ")");
  const Dims padding = ir::numbers(amounts);
  KILN_ASSIGN(Convolution conv, readConvolution(op, &padding));
  return convolve(op, std::move(conv));
}

}  // namespace

std::span<const Row> convolutionRows() {
  static constexpr Row kRows[] = {{"convolution", convolution, 2, 0, false, true},
                                  {"dynamic_conv", dynamicConv, 3, 0, false, true}};
  return kRows;
}

}  // namespace kiln::stablehlo
