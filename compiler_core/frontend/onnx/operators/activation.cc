// Activations that are compositions of the dialect's elementwise operations.
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/shared.h"

namespace kiln::onnx {
namespace {

using ir::BinaryKind;
using ir::CompareKind;
using ir::UnaryKind;

// Bounds were attributes before version 11 and may be absent; a NaN stays NaN. A lower bound above the upper
// one gives the upper one.
Result<Values> clip(NodeContext& node) {
  KILN_ASSIGN(Value result, node.input(0));
  mlir::Type element = elementOf(result);
  Value low, high;
  if (node.opset() < 11) {
    KILN_ASSIGN(float min, node.real("min", -std::numeric_limits<float>::max()));
    KILN_ASSIGN(float max, node.real("max", std::numeric_limits<float>::max()));
    low = node.scalar(element, min);
    high = node.scalar(element, max);
  } else {
    if (node.hasInput(1)) low = node.inputs()[1];
    if (node.hasInput(2)) high = node.inputs()[2];
  }
  if (low) {
    KILN_ASSIGN(result, node.binary(BinaryKind::Max, result, low));
  }
  if (high) {
    KILN_ASSIGN(result, node.binary(BinaryKind::Min, result, high));
  }
  return Values{result};
}

// x where x > 0, else `other`. A NaN is not above 0: it comes out of what `other` makes of it.
Result<Values> positiveOr(NodeContext& node, Value x, Value other) {
  KILN_ASSIGN(Value positive, node.compare(CompareKind::Gt, x, node.scalar(elementOf(x), 0)));
  KILN_ASSIGN(Value result, node.select(positive, x, other));
  return Values{result};
}

Result<Values> leakyRelu(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(float alpha, node.real("alpha", 0.01f));
  KILN_ASSIGN(Value scaled, node.binary(BinaryKind::Mul, x, node.scalar(elementOf(x), alpha)));
  return positiveOr(node, x, scaled);
}

Result<Values> parametricRelu(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value slope, node.input(1));
  // Before version 7 a slope of several elements had one per channel.
  if (node.opset() < 7 && rankOf(slope) == 1 && rankOf(x) > 1 && dimsOf(slope)[0] == dimsOf(x)[1]) {
    Shape perChannel{dimsOf(slope)[0]};
    perChannel.append(static_cast<std::size_t>(rankOf(x)) - 2, Dim(1));
    KILN_ASSIGN(slope, node.reshape(slope, perChannel));
  }
  KILN_ASSIGN(Value scaled, node.binary(BinaryKind::Mul, x, slope));
  return positiveOr(node, x, scaled);
}

// alpha * (exp(x) - 1)
Result<Value> exponential(NodeContext& node, Value x, float alpha) {
  KILN_ASSIGN(Value power, node.unary(UnaryKind::Exp, x));
  KILN_ASSIGN(Value less, node.binary(BinaryKind::Sub, power, node.scalar(elementOf(x), 1)));
  return node.binary(BinaryKind::Mul, less, node.scalar(elementOf(x), alpha));
}

Result<Values> elu(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(float alpha, node.real("alpha", 1.0f));
  KILN_ASSIGN(Value below, exponential(node, x, alpha));
  return positiveOr(node, x, below);
}

Result<Values> selu(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(float alpha, node.real("alpha", 1.67326319217681884765625f));
  KILN_ASSIGN(float gamma, node.real("gamma", 1.05070102214813232421875f));
  KILN_ASSIGN(Value below, exponential(node, x, alpha));
  KILN_ASSIGN(Values parts, positiveOr(node, x, below));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Mul, parts[0], node.scalar(elementOf(x), gamma)));
  return Values{result};
}

// max(0, min(1, alpha * x + beta))
Result<Value> hardSigmoidOf(NodeContext& node, Value x, float alpha, float beta) {
  KILN_ASSIGN(Value scaled, node.binary(BinaryKind::Mul, x, node.scalar(elementOf(x), alpha)));
  KILN_ASSIGN(Value moved, node.binary(BinaryKind::Add, scaled, node.scalar(elementOf(x), beta)));
  KILN_ASSIGN(Value high, node.binary(BinaryKind::Min, moved, node.scalar(elementOf(x), 1)));
  return node.binary(BinaryKind::Max, high, node.scalar(elementOf(x), 0));
}

Result<Values> hardSigmoid(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(float alpha, node.real("alpha", 0.2f));
  KILN_ASSIGN(float beta, node.real("beta", 0.5f));
  KILN_ASSIGN(Value result, hardSigmoidOf(node, x, alpha, beta));
  return Values{result};
}

Result<Values> hardSwish(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value gate, hardSigmoidOf(node, x, 1.0f / 6.0f, 0.5f));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Mul, x, gate));
  return Values{result};
}

// log(1 + exp(x)) as max(x, 0) + log(1 + exp(-|x|)), which does not overflow.
Result<Values> softplus(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value size, node.unary(UnaryKind::Abs, x));
  KILN_ASSIGN(Value negated, node.unary(UnaryKind::Neg, size));
  KILN_ASSIGN(Value power, node.unary(UnaryKind::Exp, negated));
  KILN_ASSIGN(Value sum, node.binary(BinaryKind::Add, power, node.scalar(elementOf(x), 1)));
  KILN_ASSIGN(Value log, node.unary(UnaryKind::Log, sum));
  KILN_ASSIGN(Value positive, node.unary(UnaryKind::Relu, x));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Add, positive, log));
  return Values{result};
}

Result<Values> softsign(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value size, node.unary(UnaryKind::Abs, x));
  KILN_ASSIGN(Value sum, node.binary(BinaryKind::Add, size, node.scalar(elementOf(x), 1)));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Div, x, sum));
  return Values{result};
}

// max(0, x) + min(0, alpha * (exp(x / alpha) - 1))
Result<Values> celu(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(float alpha, node.real("alpha", 1.0f));
  KILN_ASSIGN(Value scaled, node.binary(BinaryKind::Div, x, node.scalar(elementOf(x), alpha)));
  KILN_ASSIGN(Value below, exponential(node, scaled, alpha));
  return positiveOr(node, x, below);
}

// x / (1 + exp(-alpha * x))
Result<Values> swish(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(float alpha, node.real("alpha", 1.0f));
  KILN_ASSIGN(Value scaled, node.binary(BinaryKind::Mul, x, node.scalar(elementOf(x), alpha)));
  KILN_ASSIGN(Value gate, node.unary(UnaryKind::Sigmoid, scaled));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Mul, x, gate));
  return Values{result};
}

// x * tanh(softplus(x))
Result<Values> mish(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Values soft, softplus(node));
  KILN_ASSIGN(Value gate, node.unary(UnaryKind::Tanh, soft[0]));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Mul, x, gate));
  return Values{result};
}

// x where x > alpha, else 0.
Result<Values> thresholdedRelu(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(float alpha, node.real("alpha", 1.0f));
  KILN_ASSIGN(Value above, node.compare(CompareKind::Gt, x, node.scalar(elementOf(x), alpha)));
  KILN_ASSIGN(Value result, node.select(above, x, node.scalar(elementOf(x), 0)));
  return Values{result};
}

// x + bias below -lambd, x - bias above lambd, 0 between.
Result<Values> shrink(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(float bias, node.real("bias", 0.0f));
  KILN_ASSIGN(float lambda, node.real("lambd", 0.5f));
  // Integers are shrunk as the f64 they are.
  const mlir::Type element = elementOf(x);
  const mlir::Type working = isFloat(x) ? element : mlir::Type(mlir::Float64Type::get(node.context()));
  KILN_ASSIGN(x, node.cast(x, working));
  KILN_ASSIGN(Value low, node.compare(CompareKind::Lt, x, node.scalar(working, -lambda)));
  KILN_ASSIGN(Value high, node.compare(CompareKind::Gt, x, node.scalar(working, lambda)));
  KILN_ASSIGN(Value raised, node.binary(BinaryKind::Add, x, node.scalar(working, bias)));
  KILN_ASSIGN(Value lowered, node.binary(BinaryKind::Sub, x, node.scalar(working, bias)));
  KILN_ASSIGN(Value rest, node.select(high, lowered, node.scalar(working, 0)));
  KILN_ASSIGN(Value result, node.select(low, raised, rest));
  KILN_ASSIGN(result, node.cast(result, element));
  return Values{result};
}

// x * 0.5 * (1 + erf(x / sqrt(2))), or with tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)) in its place.
Result<Values> gelu(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  auto approximate = node.text("approximate", "none");
  if (!approximate) return fail(approximate.error());
  if (*approximate != "none" && *approximate != "tanh")
    return fail(Code::kInvalidArgument,
                "attribute 'approximate' is '" + *approximate + "', not none or tanh");
  mlir::Type element = elementOf(x);
  Value bend;
  if (*approximate == "none") {
    KILN_ASSIGN(Value scaled, node.binary(BinaryKind::Mul, x, node.scalar(element, 0.70710678118654752440)));
    KILN_ASSIGN(bend, node.unary(UnaryKind::Erf, scaled));
  } else {
    KILN_ASSIGN(Value square, node.binary(BinaryKind::Mul, x, x));
    KILN_ASSIGN(Value cube, node.binary(BinaryKind::Mul, square, x));
    KILN_ASSIGN(Value small, node.binary(BinaryKind::Mul, cube, node.scalar(element, 0.044715)));
    KILN_ASSIGN(Value sum, node.binary(BinaryKind::Add, x, small));
    KILN_ASSIGN(Value scaled,
                node.binary(BinaryKind::Mul, sum, node.scalar(element, 0.79788456080286535588)));
    KILN_ASSIGN(bend, node.unary(UnaryKind::Tanh, scaled));
  }
  KILN_ASSIGN(Value raised, node.binary(BinaryKind::Add, bend, node.scalar(element, 1)));
  KILN_ASSIGN(Value half, node.binary(BinaryKind::Mul, x, node.scalar(element, 0.5)));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Mul, half, raised));
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "Celu", 12, kMaxOpset, inF32<celu>},
    {"", "Clip", 6, kMaxOpset, clip},
    {"", "Elu", 6, kMaxOpset, inF32<elu>},
    {"", "Gelu", 20, kMaxOpset, inF32<gelu>},
    {"", "HardSigmoid", 6, kMaxOpset, inF32<hardSigmoid>},
    {"", "HardSwish", 14, kMaxOpset, inF32<hardSwish>},
    {"", "LeakyRelu", 6, kMaxOpset, inF32<leakyRelu>},
    {"", "Mish", 18, kMaxOpset, inF32<mish>},
    {"", "PRelu", 6, kMaxOpset, parametricRelu},
    {"", "Selu", 6, kMaxOpset, inF32<selu>},
    {"", "Shrink", 9, kMaxOpset, inF32<shrink>},
    {"", "Softplus", 6, kMaxOpset, inF32<softplus>},
    {"", "Softsign", 6, kMaxOpset, inF32<softsign>},
    {"", "Swish", 24, kMaxOpset, inF32<swish>},
    {"", "ThresholdedRelu", 10, kMaxOpset, thresholdedRelu},
};

}  // namespace

std::span<const Operator> activationOperators() {
  return kRows;
}

}  // namespace kiln::onnx
