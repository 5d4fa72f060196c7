// Convolutions and transposed ones.
#include "compiler_core/frontend/torch/operators/operators.h"

namespace kiln::torch {
namespace {

struct Window {
  Dims strides, before, after, dilations;
  std::int64_t groups = 1;
};

Status checkWindow(const Window& window, std::size_t rank) {
  if (rank < 1 || rank > 3)
    return unserved("windows of " + std::to_string(rank) + " dimensions are not served");
  for (std::size_t i = 0; i < rank; ++i)
    if (window.strides[i] < 1 || window.dilations[i] < 1)
      return invalid("strides and dilations are positive");
  if (window.groups < 1) return invalid("groups are positive");
  return {};
}

// "same" gives as many results as positions with a stride of 1; the odd element of padding goes behind.
Status padSame(const Dims& kernel, Window& window) {
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    if (window.strides[i] != 1) return invalid("padding='same' needs a stride of 1");
    const std::int64_t total = (kernel[i] - 1) * window.dilations[i];
    window.before[i] = total / 2;
    window.after[i] = total - total / 2;
  }
  return {};
}

struct Convolution {
  Value input, weight, bias;
  Dims kernel;
  Window window;
  bool isBatched = true;  // else the first dimension has been added here
};

Result<Convolution> read(NodeContext& node) {
  Convolution c;
  KILN_ASSIGN(c.input, node.tensor("input"));
  KILN_ASSIGN(c.weight, node.tensor("weight"));
  KILN_ASSIGN(c.bias, node.optionalTensor("bias"));
  const Shape weight = dimsOf(c.weight);
  if (!ir::isStatic(weight)) return unserved("a filter whose shape is known at run time only is not served");
  if (weight.size() < 3) return invalid("the filter has no window");
  c.kernel = Dims(llvm::ArrayRef(ir::numbers(weight)).drop_front(2));
  c.isBatched = rankOf(c.input) == rankOf(c.weight);
  if (!c.isBatched) {
    Shape shape = dimsOf(c.input);
    shape.insert(shape.begin(), Dim(1));
    KILN_ASSIGN(c.input, node.reshape(c.input, shape));
  }
  if (rankOf(c.input) != rankOf(c.weight)) return invalid("input and filter differ in rank");
  const std::size_t rank = c.kernel.size();
  KILN_ASSIGN(c.window.strides, node.perDimension("stride", rank, 1));
  KILN_ASSIGN(c.window.dilations, node.perDimension("dilation", rank, 1));
  KILN_ASSIGN(c.window.groups, node.integer("groups", 1));
  const bool isNamed = node.isText("padding");
  KILN_ASSIGN(c.window.before, isNamed ? Dims(rank, 0) : node.perDimension("padding", rank, 0));
  c.window.after = c.window.before;
  KILN_TRY(checkWindow(c.window, rank));
  if (isNamed) {
    KILN_ASSIGN(const std::string name, node.text("padding", ""));
    if (name == "same") KILN_TRY(padSame(c.kernel, c.window));
    if (name != "same" && name != "valid") return invalid("padding is " + name);
  }
  return c;
}

Result<Values> finished(NodeContext& node, const Convolution& c, Value result) {
  if (c.isBatched) return Values{result};
  Shape shape = dimsOf(result);
  shape.erase(shape.begin());
  return one(node.reshape(result, shape));
}

Dims joined(const Dims& before, const Dims& after) {
  Dims pads(before);
  llvm::append_range(pads, after);
  return pads;
}

Result<Values> forward(NodeContext& node, const Convolution& c) {
  KILN_ASSIGN(const Value result,
              node.conv(c.input, c.weight, c.bias,
                        {c.window.strides, joined(c.window.before, c.window.after), c.window.dilations},
                        c.window.groups));
  return finished(node, c, result);
}

// [C, M / groups, K...] as the filter of the convolution that goes the other way: [M, C / groups, K...],
// mirrored.
Result<Value> turnedFilter(NodeContext& node, Value filter, std::int64_t groups) {
  const Dims shape(ir::numbers(dimsOf(filter)));
  if (shape[0] % groups) return invalid("groups do not divide the channels");
  const std::int64_t in = shape[0] / groups, out = shape[1];
  Dims split{groups, in, out}, permutation{0, 2, 1}, whole{groups * out, in}, offsets{0, 0}, strides{1, 1};
  for (std::size_t i = 2; i < shape.size(); ++i) {
    split.push_back(shape[i]);
    permutation.push_back(static_cast<std::int64_t>(i) + 1);
    whole.push_back(shape[i]);
    offsets.push_back(shape[i] - 1);
    strides.push_back(shape[i] > 1 ? -1 : 1);
  }
  KILN_ASSIGN(const Value result,
              Term(node, filter).reshape(split).transpose(permutation).reshape(whole).value());
  return node.slice(result, offsets, strides, whole);
}

// The input spread out by the strides and padded, under the mirrored filter.
Result<Values> transposed(NodeContext& node, const Convolution& c) {
  const std::size_t rank = c.kernel.size();
  KILN_ASSIGN(const Dims more, node.perDimension("output_padding", rank, 0));
  Dims low{0, 0}, high{0, 0}, interior{0, 0}, offsets{0, 0};
  Shape cutOff{Dim(0), Dim(0)};
  bool isSpread = false, isCut = false;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t around = (c.kernel[i] - 1) * c.window.dilations[i];
    const std::int64_t before = around - c.window.before[i], after = around - c.window.after[i] + more[i];
    low.push_back(std::max<std::int64_t>(0, before));
    high.push_back(std::max<std::int64_t>(0, after));
    interior.push_back(c.window.strides[i] - 1);
    offsets.push_back(std::max<std::int64_t>(0, -before));
    cutOff.push_back(Dim(offsets.back() + std::max<std::int64_t>(0, -after)));
    isSpread |= interior.back() != 0;
    isCut |= before < 0 || after < 0;
  }
  Value spread = c.input;
  if (isSpread || isCut) {
    KILN_ASSIGN(spread, node.pad(ir::PadMode::Constant, spread, node.scalar(elementOf(spread), 0), low, high,
                                 interior));
    low.assign(rank + 2, 0);
    high.assign(rank + 2, 0);
  }
  if (isCut) {
    Shape sizes = dimsOf(spread);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sizes[i] = sizes[i] - cutOff[i];
      if (sizes[i].isStatic() && sizes[i].value() < 1) return invalid("the padding leaves no result");
    }
    KILN_ASSIGN(spread, node.slice(spread, offsets, Dims(rank + 2, 1), sizes));
  }
  KILN_ASSIGN(const Value filter, turnedFilter(node, c.weight, c.window.groups));
  const Dims pads = joined(Dims(llvm::ArrayRef(low).drop_front(2)), Dims(llvm::ArrayRef(high).drop_front(2)));
  KILN_ASSIGN(const Value result,
              node.conv(spread, filter, c.bias, {Dims(rank, 1), pads, c.window.dilations}, c.window.groups));
  return finished(node, c, result);
}

Result<Values> convolve(NodeContext& node) {
  KILN_ASSIGN(const Convolution c, read(node));
  return forward(node, c);
}

Result<Values> convolveTransposed(NodeContext& node) {
  KILN_ASSIGN(const Convolution c, read(node));
  return transposed(node, c);
}

// Of either direction, as Core ATen has it.
Result<Values> convolution(NodeContext& node) {
  node.ignore({"benchmark", "deterministic", "cudnn_enabled", "allow_tf32"});
  KILN_ASSIGN(const Convolution c, read(node));
  KILN_ASSIGN(const bool isTransposed, node.flag("transposed"));
  if (!isTransposed) {
    node.ignore({"output_padding"});
    return forward(node, c);
  }
  return transposed(node, c);
}

constexpr auto kWide = Precision::kWidened;
constexpr Row kRows[] = {
    {"_convolution", convolution, kWide},
    {"conv1d", convolve, kWide},
    {"conv2d", convolve, kWide},
    {"conv3d", convolve, kWide},
    {"conv_transpose1d", convolveTransposed, kWide},
    {"conv_transpose2d", convolveTransposed, kWide},
    {"conv_transpose3d", convolveTransposed, kWide},
    {"convolution", convolution, kWide},
};

}  // namespace

std::span<const Row> convolutionRows() {
  return kRows;
}

}  // namespace kiln::torch
