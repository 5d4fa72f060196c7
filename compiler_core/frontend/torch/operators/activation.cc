// Activations and softmax.
#include "compiler_core/frontend/torch/operators/operators.h"

namespace kiln::torch {
namespace {

using ir::UnaryKind;

template <UnaryKind kind>
Result<Values> unary(NodeContext& node) {
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Value x, kind == UnaryKind::Relu ? Result<Value>(self) : asFloat(node, self));
  return one(node.unary(kind, x));
}

Term between(const Term& x, double low, double high) {
  return min(max(x, low), high);
}

Result<Values> hardTanh(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  KILN_ASSIGN(const double low, node.real("min_val", -1.0));
  KILN_ASSIGN(const double high, node.real("max_val", 1.0));
  return one(between(x, low, high));
}

Result<Values> relu6(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  return one(between(x, 0.0, 6.0));
}

Result<Values> hardSigmoid(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  return one(between(x + 3.0, 0.0, 6.0) / 6.0);
}

Result<Values> hardSwish(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  return one(x * between(x + 3.0, 0.0, 6.0) / 6.0);
}

Result<Values> silu(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  return one(x * x.unary(UnaryKind::Sigmoid));
}

// x times the normal distribution below x, or the approximation by tanh.
Result<Values> gelu(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  KILN_ASSIGN(const std::string approximate, node.text("approximate", "none"));
  constexpr double kRootHalf = 0.70710678118654752440, kRootTwoByPi = 0.79788456080286535588;
  if (approximate == "none") return one(x * 0.5 * ((x * kRootHalf).unary(UnaryKind::Erf) + 1.0));
  if (approximate != "tanh") return invalid("approximate is " + approximate);
  const Term inner = (x + x * x * x * 0.044715) * kRootTwoByPi;
  return one(x * 0.5 * (inner.unary(UnaryKind::Tanh) + 1.0));
}

// x where x > 0, else `other`; a NaN comes out of `other`.
Result<Values> positiveOr(const Term& x, const Term& other) {
  return one((x > 0.0).select(x, other));
}

Result<Values> elu(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  KILN_ASSIGN(const double alpha, node.real("alpha", 1.0));
  KILN_ASSIGN(const double scale, node.real("scale", 1.0));
  KILN_ASSIGN(const double inputScale, node.real("input_scale", 1.0));
  const Term below = (min(x, 0.0) * inputScale).unary(UnaryKind::Expm1) * alpha;
  return one((x > 0.0).select(x, below) * scale);
}

Result<Values> celu(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  KILN_ASSIGN(const double alpha, node.real("alpha", 1.0));
  return positiveOr(x, (min(x, 0.0) / alpha).unary(UnaryKind::Expm1) * alpha);
}

Result<Values> selu(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  constexpr double kAlpha = 1.6732632423543772848, kScale = 1.0507009873554804934;
  return one((x > 0.0).select(x, min(x, 0.0).unary(UnaryKind::Expm1) * kAlpha) * kScale);
}

Result<Values> leakyRelu(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  KILN_ASSIGN(const double slope, node.real("negative_slope", 0.01));
  return positiveOr(x, x * slope);
}

// The slope is one for all or one per channel, which is dimension 1.
Result<Values> prelu(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  KILN_ASSIGN(Value weight, node.tensor("weight"));
  if (rankOf(weight) == 1 && rankOf(*x.value()) > 1) {
    Shape shape(x.shape().size(), Dim(1));
    shape[1] = dimsOf(weight)[0];
    KILN_ASSIGN(weight, node.reshape(weight, shape));
  }
  return positiveOr(x, x * Term(node, weight));
}

// log(1 + exp(x)), which does not overflow so written.
Term softplusOf(const Term& x) {
  return max(x, 0.0) + (-x.abs()).unary(UnaryKind::Exp).unary(UnaryKind::Log1p);
}

Result<Values> softplus(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  KILN_ASSIGN(const double beta, node.real("beta", 1.0));
  KILN_ASSIGN(const double threshold, node.real("threshold", 20.0));
  const Term scaled = x * beta;
  return one((scaled > threshold).select(x, softplusOf(scaled) / beta));
}

Result<Values> mish(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  return one(x * softplusOf(x).unary(UnaryKind::Tanh));
}

Result<Values> logSigmoid(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  KILN_ASSIGN(const Value result, (-softplusOf(-x)).value());
  return Values{result, Value()};  // what the gradient needs is nobody's here
}

Result<Values> threshold(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  KILN_ASSIGN(const double bound, node.real("threshold"));
  KILN_ASSIGN(const double value, node.real("value"));
  return one((x > bound).select(x, value));
}

Result<Values> glu(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  KILN_ASSIGN(std::int64_t axis, node.integer("dim", -1));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(*x.value())));
  Shape shape = x.shape(), offsets(shape.size(), Dim(0));
  const auto half = ir::exactDiv(shape[static_cast<std::size_t>(axis)], Dim(2));
  if (!half) return node.undecided("whether the dimension of glu can be halved");
  shape[static_cast<std::size_t>(axis)] = *half;
  const Dims strides(shape.size(), 1);
  const Term first(node, node.symbolicSlice(*x.value(), offsets, strides, shape));
  offsets[static_cast<std::size_t>(axis)] = *half;
  const Term second(node, node.symbolicSlice(*x.value(), offsets, strides, shape));
  return one(first * second.unary(UnaryKind::Sigmoid));
}

// The input of a softmax, in the type asked for.
Result<Value> softmaxInput(NodeContext& node) {
  KILN_ASSIGN(Value x, node.tensor("self"));
  KILN_ASSIGN(mlir::Type type, node.type("dtype"));
  node.ignore({"half_to_float"});
  if (!type || type.isF16() || type.isBF16()) type = isFloat(x) ? elementOf(x) : node.f32();
  return node.cast(x, type);
}

Result<std::int64_t> axisOf(NodeContext& node, Value x) {
  KILN_ASSIGN(const std::int64_t axis, node.integer("dim"));
  return normalAxis(axis, std::max<std::int64_t>(rankOf(x), 1));
}

Result<Values> softmax(NodeContext& node) {
  KILN_ASSIGN(const Value x, softmaxInput(node));
  KILN_ASSIGN(const std::int64_t axis, axisOf(node, x));
  if (rankOf(x) == 0) return one(node.filled(elementOf(x), Shape(), 1));
  return one(node.softmax(x, axis));
}

Result<Values> logSoftmax(NodeContext& node) {
  KILN_ASSIGN(const Value value, softmaxInput(node));
  KILN_ASSIGN(const std::int64_t axis, axisOf(node, value));
  if (rankOf(value) == 0) return one(node.filled(elementOf(value), Shape(), 0));
  const Term x(node, value), shifted = x - x.reduce(ir::ReduceKind::Max, {axis}, true);
  return one(shifted -
             shifted.unary(UnaryKind::Exp).reduce(ir::ReduceKind::Sum, {axis}, true).unary(UnaryKind::Log));
}

// Without training dropout gives its input itself, in place or not.
Result<Values> dropout(NodeContext& node) {
  // In place it is "self".
  KILN_ASSIGN(const Value x, node.tensor(node.has("self") ? "self" : "input"));
  KILN_ASSIGN(const bool trains, node.flag("train", false));
  KILN_ASSIGN(const double probability, node.real("p", 0.5));
  if (trains && probability != 0)
    return unserved("dropout that trains is random; export the model after .eval()");
  return Values{x};
}

Result<Value> writeSame(NodeContext&, Value, Value part, std::size_t) {
  return part;
}

constexpr auto kWide = Precision::kWidened;
constexpr Row kRows[] = {
    {"_log_softmax", logSoftmax, kWide},
    {"_softmax", softmax, kWide},
    {"alpha_dropout", dropout, Precision::kAsDeclared, Alias::kView, writeSame},
    {"alpha_dropout_", dropout, Precision::kAsDeclared, Alias::kView, writeSame},
    {"celu", celu, kWide},
    {"dropout", dropout, Precision::kAsDeclared, Alias::kView, writeSame},
    {"dropout_", dropout, Precision::kAsDeclared, Alias::kView, writeSame},
    {"elu", elu, kWide},
    {"feature_dropout", dropout, Precision::kAsDeclared, Alias::kView, writeSame},
    {"feature_dropout_", dropout, Precision::kAsDeclared, Alias::kView, writeSame},
    {"gelu", gelu, kWide},
    {"glu", glu, kWide},
    {"hardsigmoid", hardSigmoid, kWide},
    {"hardswish", hardSwish, kWide},
    {"hardtanh", hardTanh},
    {"leaky_relu", leakyRelu, kWide},
    {"log_sigmoid", logSigmoid, kWide},
    {"log_sigmoid_forward", logSigmoid, kWide},
    {"log_softmax", logSoftmax, kWide},
    {"mish", mish, kWide},
    {"prelu", prelu, kWide},
    {"_prelu_kernel", prelu, kWide},
    {"relu", unary<UnaryKind::Relu>},
    {"relu6", relu6},
    {"selu", selu, kWide},
    {"sigmoid", unary<UnaryKind::Sigmoid>, kWide},
    {"silu", silu, kWide},
    {"softmax", softmax, kWide},
    {"softplus", softplus, kWide},
    {"tanh", unary<UnaryKind::Tanh>, kWide},
    {"threshold", threshold},
};

}  // namespace

std::span<const Row> activationRows() {
  return kRows;
}

}  // namespace kiln::torch
