// Gelu in its forms, softmax behind a bias, and the activations inside of other operators.
#include "compiler_core/frontend/onnx/operators/contrib/activation.h"

#include "compiler_core/frontend/onnx/operators/contrib/contrib.h"
#include "compiler_core/frontend/onnx/operators/shared.h"

namespace kiln::onnx {
namespace {

using ir::UnaryKind;

// x * 0.5 * (1 + erf(x / sqrt(2)))
Result<Values> exactGelu(const Term& x) {
  const Term bend = (x * 0.70710678118654752440).unary(UnaryKind::Erf);
  KILN_ASSIGN(Value result, ((x * 0.5) * (bend + 1.0)).value());
  return Values{result};
}

Result<Values> gelu(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  return exactGelu(Term(node, x));
}

Result<Term> biased(NodeContext& node, bool required) {
  KILN_ASSIGN(Value x, node.input(0));
  if (!required && !node.hasInput(1)) return Term(node, x);
  KILN_ASSIGN(Value bias, node.input(1));
  if (rankOf(bias) != 1) return fail(Code::kInvalidArgument, "the bias is no vector");
  return Term(node, x) + Term(node, bias);
}

Result<Values> biasGelu(NodeContext& node) {
  KILN_ASSIGN(Term x, biased(node, true));
  return exactGelu(x);
}

// The approximation by tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)), of x with a bias.
Result<Values> fastGelu(NodeContext& node) {
  KILN_ASSIGN(Term x, biased(node, false));
  const Term bend = (x * (x * x * 0.035677408136300125 + 0.7978845608028654)).unary(UnaryKind::Tanh);
  KILN_ASSIGN(Value result, ((x * 0.5) * (bend + 1.0)).value());
  return Values{result};
}

Result<Values> quickGelu(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(float alpha, node.real("alpha", 1.702f));
  const Term term(node, x);
  KILN_ASSIGN(Value result, (term * (term * alpha).unary(UnaryKind::Sigmoid)).value());
  return Values{result};
}

// softmax(data + bias) over the dimensions from `axis` on, taken together.
Result<Values> biasSoftmax(NodeContext& node) {
  KILN_ASSIGN(Value data, node.input(0));
  KILN_ASSIGN(Value bias, node.input(1));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", 1));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(data)));
  // Which dimensions of the bias are 1 says the same.
  KILN_TRY(node.integer("is_inner_broadcast", 0));
  const Shape shape = dimsOf(data);
  const llvm::ArrayRef<Dim> all(shape);
  const Term sum = (Term(node, data) + Term(node, bias)).broadcast(shape);
  const auto split = static_cast<std::size_t>(axis);
  KILN_ASSIGN(Value flat,
              sum.reshape({ir::product(all.take_front(split)), ir::product(all.drop_front(split))}).value());
  KILN_ASSIGN(Value result, node.softmax(flat, 1));
  KILN_ASSIGN(result, node.reshape(result, shape));
  return Values{result};
}

constexpr Operator kRows[] = {
    {kMicrosoft, "BiasGelu", 1, 1, inF32<biasGelu>},   {kMicrosoft, "BiasSoftmax", 1, 1, inF32<biasSoftmax>},
    {kMicrosoft, "FastGelu", 1, 1, inF32<fastGelu>},   {kMicrosoft, "Gelu", 1, 1, inF32<gelu>},
    {kMicrosoft, "QuickGelu", 1, 1, inF32<quickGelu>},
};

}  // namespace

Result<Value> activated(NodeContext& node, Value value, const std::string& name,
                        const std::vector<float>& parameters) {
  const Term x(node, value);
  const auto parameter = [&](std::size_t index, float fallback) {
    return index < parameters.size() ? parameters[index] : fallback;
  };
  if (name.empty()) return value;
  if (name == "Relu") return node.unary(UnaryKind::Relu, value);
  if (name == "Sigmoid") return node.unary(UnaryKind::Sigmoid, value);
  if (name == "Tanh") return node.unary(UnaryKind::Tanh, value);
  if (name == "LeakyRelu") return (x > 0.0).select(x, x * parameter(0, 0.01f)).value();
  if (name == "HardSigmoid")
    return (x * parameter(0, 0.2f) + parameter(1, 0.5f)).clamp(0, x.number(1)).value();
  if (name == "Clip") {
    constexpr float kMost = std::numeric_limits<float>::max();
    return x.clamp(parameter(0, -kMost), x.number(parameter(1, kMost))).value();
  }
  return fail(Code::kUnimplemented, "activation '" + name + "' is not served");
}

std::span<const Operator> contribActivationOperators() {
  return kRows;
}

}  // namespace kiln::onnx
