// Normalisations, and Dropout, which does nothing at inference.
#include "compiler_core/frontend/onnx/operators.h"

namespace kiln::onnx {
namespace {

using ir::BinaryKind;

tl::unexpected<Error> training() {
  return fail(Code::kUnimplemented, "training mode is not served");
}

Result<Values> batchNormalization(NodeContext& node) {
  KILN_ASSIGN(float epsilon, node.real("epsilon", 1e-5f));
  KILN_TRY(node.real("momentum", 0.9f));  // of the running statistics, unused at inference
  KILN_ASSIGN(std::int64_t spatial, node.opset() < 9 ? node.integer("spatial", 1) : Result<std::int64_t>(1));
  KILN_ASSIGN(std::int64_t isTest, node.opset() < 7 ? node.integer("is_test", 0) : Result<std::int64_t>(1));
  KILN_ASSIGN(std::int64_t trains,
              node.opset() >= 14 ? node.integer("training_mode", 0) : Result<std::int64_t>(0));
  if (trains || !isTest || node.wantsOutput(1)) return training();
  if (!spatial) return fail(Code::kUnimplemented, "spatial=0 is not served");
  Values operands;
  for (std::size_t i = 0; i < 5; ++i) {
    KILN_ASSIGN(Value operand, node.input(i));
    operands.push_back(operand);
  }
  KILN_ASSIGN(Value result, node.batchNorm(operands, epsilon));
  return Values{result};
}

// (x - mean) / sqrt(variance + epsilon) * scale + offset over the last dimensions, from `axis` on.
Result<Values> layerNormalization(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value scale, node.input(1));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", -1));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(x)));
  KILN_ASSIGN(float epsilon, node.real("epsilon", 1e-5f));
  KILN_ASSIGN(std::int64_t stash, node.integer("stash_type", 1));
  if (stash != 1 || node.wantsOutput(1))
    return fail(Code::kUnimplemented, "other outputs or another stash_type are not served");
  Dims axes;
  for (std::int64_t i = axis; i < rankOf(x); ++i) axes.push_back(i);
  KILN_ASSIGN(Value mean, node.mean(x, axes, true));
  KILN_ASSIGN(Value centred, node.binary(BinaryKind::Sub, x, mean));
  KILN_ASSIGN(Value square, node.binary(BinaryKind::Mul, centred, centred));
  KILN_ASSIGN(Value variance, node.mean(square, axes, true));
  KILN_ASSIGN(Value raised, node.binary(BinaryKind::Add, variance, node.scalar(elementOf(x), epsilon)));
  KILN_ASSIGN(Value deviation, node.unary(ir::UnaryKind::Sqrt, raised));
  KILN_ASSIGN(Value normal, node.binary(BinaryKind::Div, centred, deviation));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Mul, normal, scale));
  if (node.hasInput(2)) {
    KILN_ASSIGN(result, node.binary(BinaryKind::Add, result, node.inputs()[2]));
  }
  return Values{result};
}

// x / (bias + alpha / size * sum of x^2 over `size` neighbouring channels)^beta. The sum over channels is a
// pool over an image whose rows are the channels; its average, padding counted, is what alpha multiplies.
Result<Values> localResponseNormalization(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(float alpha, node.real("alpha", 1e-4f));
  KILN_ASSIGN(float beta, node.real("beta", 0.75f));
  KILN_ASSIGN(float bias, node.real("bias", 1.0f));
  KILN_ASSIGN(std::int64_t size, node.integer("size", 0));
  const Shape shape = dimsOf(x);
  if (shape.size() < 2) return fail(Code::kInvalidArgument, "the input has no channels");
  if (size < 1 || size > 4096)
    return fail(Code::kInvalidArgument, "size " + std::to_string(size) + " is not between 1 and 4096");
  Dim rest = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) rest = rest * shape[i];
  KILN_ASSIGN(Value square, node.binary(BinaryKind::Mul, x, x));
  KILN_ASSIGN(square, node.reshape(square, {shape[0], 1, shape[1], rest}));
  KILN_ASSIGN(Value mean, node.pool(ir::PoolKind::Average, square, {size, 1}, {1, 1},
                                    {(size - 1) / 2, 0, size / 2, 0}, {1, 1},
                                    /*countPadding=*/true));
  KILN_ASSIGN(mean, node.reshape(mean, shape));
  KILN_ASSIGN(Value scaled, node.binary(BinaryKind::Mul, mean, node.scalar(elementOf(x), alpha)));
  KILN_ASSIGN(Value base, node.binary(BinaryKind::Add, scaled, node.scalar(elementOf(x), bias)));
  KILN_ASSIGN(Value divisor, node.binary(BinaryKind::Pow, base, node.scalar(elementOf(x), beta)));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Div, x, divisor));
  return Values{result};
}

Result<Values> dropout(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(float ratio, node.real("ratio", 0.5f));
  if (node.opset() >= 12) KILN_TRY(node.integer("seed", 0));
  KILN_ASSIGN(std::int64_t isTest, node.opset() < 7 ? node.integer("is_test", 0) : Result<std::int64_t>(1));
  bool trains = !isTest;
  if (node.opset() >= 12 && node.hasInput(2)) {
    auto mode = NodeContext::constantScalar(node.inputs()[2]);
    if (!mode) return NodeContext::notConstant("the training mode of Dropout", node.inputs()[2]);
    trains = *mode != 0;
  }
  // Training drops nothing at a ratio of 0.
  if (trains && node.opset() >= 12 && node.hasInput(1)) {
    auto given = NodeContext::constantScalar(node.inputs()[1]);
    if (!given) return NodeContext::notConstant("the ratio of Dropout", node.inputs()[1]);
    ratio = static_cast<float>(*given);
  }
  if (trains && ratio != 0) return training();
  Values results{input};
  if (node.wantsOutput(1))
    results.push_back(node.splat(mlir::IntegerType::get(node.context(), 1), shapeOf(input), 1));
  return results;
}

constexpr Operator kRows[] = {
    {"", "BatchNormalization", 6, kMaxOpset, batchNormalization},
    {"", "Dropout", 6, kMaxOpset, dropout},
    {"", "LRN", 6, kMaxOpset, localResponseNormalization},
    {"", "LayerNormalization", 17, kMaxOpset, layerNormalization},
};

}  // namespace

std::span<const Operator> normalizationOperators() {
  return kRows;
}

}  // namespace kiln::onnx
