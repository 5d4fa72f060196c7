// Arithmetic, element by element.
#include "compiler_core/frontend/torch/operators/operators.h"
#include "compiler_core/frontend/torch/operators/promotion.h"

namespace kiln::torch {
namespace {

using ir::BinaryKind;
using ir::UnaryKind;

struct Pair {
  Term left, right;
};
// "self" and "other" in the type of the result.
Result<Pair> operands(NodeContext& node) {
  KILN_ASSIGN(const mlir::Type type, calculatedType(node));
  KILN_ASSIGN(const Value left, node.operand("self", type));
  KILN_ASSIGN(const Value right, node.operand("other", type));
  return Pair{{node, left}, {node, right}};
}

template <BinaryKind kind>
Result<Values> binary(NodeContext& node) {
  KILN_ASSIGN(const Pair pair, operands(node));
  return one(pair.left.binary(kind, pair.right));
}

// self + alpha * other, or the difference.
template <BinaryKind kind, bool swapped = false>
Result<Values> sum(NodeContext& node) {
  KILN_ASSIGN(Pair pair, operands(node));
  if (swapped) std::swap(pair.left, pair.right);
  if (node.has("alpha")) {
    KILN_ASSIGN(const Value alpha, node.operand("alpha", elementOf(*pair.left.value())));
    pair.right = pair.right * Term(node, alpha);
  }
  if (kind == BinaryKind::Add && elementOf(*pair.left.value()).isInteger(1))
    return one(pair.left | pair.right);
  return one(pair.left.binary(kind, pair.right));
}

// Towards minus infinity; kiln divides integers towards zero.
Term floorDivided(NodeContext& node, const Term& a, const Term& b) {
  if (!a.ok() || isFloat(*a.value())) return (a / b).floor();
  return (a - a % b) / b;
}

Result<Values> divide(NodeContext& node) {
  KILN_ASSIGN(const std::string mode, node.text("rounding_mode", ""));
  KILN_ASSIGN(const Pair pair, operands(node));
  if (mode == "floor") return one(floorDivided(node, pair.left, pair.right));
  const Term quotient = pair.left / pair.right;
  if (mode == "trunc" && quotient.ok() && isFloat(*quotient.value()))
    return one((quotient < 0.0).select(quotient.ceil(), quotient.floor()));
  if (!mode.empty() && mode != "trunc") return invalid("rounding_mode is " + mode);
  return one(quotient);
}

Result<Values> floorDivide(NodeContext& node) {
  KILN_ASSIGN(const Pair pair, operands(node));
  return one(floorDivided(node, pair.left, pair.right));
}

// Powers by small whole numbers are products, as torch calculates them.
Result<Values> power(NodeContext& node) {
  KILN_ASSIGN(const mlir::Type type, calculatedType(node));
  KILN_ASSIGN(const Value base, node.operand("self", type));
  const Term x(node, base);
  if (!node.isTensor("exponent")) {
    KILN_ASSIGN(const double exponent, node.real("exponent"));
    if (exponent == 1) return one(x);
    if (exponent == 2) return one(x * x);
    if (exponent == 3) return one(x * x * x);
    if (exponent == 0.5 && isFloat(base)) return one(x.sqrt());
    if (exponent == -0.5 && isFloat(base)) return one(x.sqrt().unary(UnaryKind::Reciprocal));
    if (exponent == -1 && isFloat(base)) return one(x.unary(UnaryKind::Reciprocal));
  }
  KILN_ASSIGN(const Value exponent, node.operand("exponent", type));
  return one(x.binary(BinaryKind::Pow, Term(node, exponent)));
}

// On the input in the result's type: integers become floats where the function gives floats.
Result<Term> input(NodeContext& node) {
  KILN_ASSIGN(const mlir::Type type, calculatedType(node));
  KILN_ASSIGN(const Value value, node.operand("self", type));
  return Term(node, value);
}

template <UnaryKind kind>
Result<Values> unary(NodeContext& node) {
  KILN_ASSIGN(const Term x, input(node));
  return one(x.unary(kind));
}

// Of integers rounding changes nothing.
template <UnaryKind kind>
Result<Values> rounded(NodeContext& node) {
  KILN_ASSIGN(const Term x, input(node));
  KILN_ASSIGN(const std::int64_t decimals, node.integer("decimals", 0));
  if (decimals != 0) return unserved("rounding to decimals is not served");
  return one(isFloat(*x.value()) ? x.unary(kind) : x);
}

Result<Values> truncated(NodeContext& node) {
  KILN_ASSIGN(const Term x, input(node));
  return one(isFloat(*x.value()) ? (x < 0.0).select(x.ceil(), x.floor()) : x);
}

Result<Values> negated(NodeContext& node) {
  KILN_ASSIGN(const Term x, input(node));
  return one(-x);
}

Result<Values> rsqrt(NodeContext& node) {
  KILN_ASSIGN(const Term x, input(node));
  return one(x.sqrt().unary(UnaryKind::Reciprocal));
}

Result<Values> square(NodeContext& node) {
  KILN_ASSIGN(const Term x, input(node));
  return one(x * x);
}

template <int base>
Result<Values> logarithm(NodeContext& node) {
  KILN_ASSIGN(const Term x, input(node));
  return one(x.unary(UnaryKind::Log) * (1.0 / std::log(static_cast<double>(base))));
}

Result<Values> exponentialOfTwo(NodeContext& node) {
  KILN_ASSIGN(const Term x, input(node));
  return one(x.number(2.0).binary(BinaryKind::Pow, x));
}

Result<Values> erfc(NodeContext& node) {
  KILN_ASSIGN(const Term x, input(node));
  return one(1.0 - x.unary(UnaryKind::Erf));
}

// self + value * tensor1 * tensor2, or the quotient.
template <BinaryKind kind>
Result<Values> addProduct(NodeContext& node) {
  KILN_ASSIGN(const Term x, input(node));
  const mlir::Type type = elementOf(*x.value());
  KILN_ASSIGN(const Value a, node.operand("tensor1", type));
  KILN_ASSIGN(const Value b, node.operand("tensor2", type));
  KILN_ASSIGN(const double value, node.real("value", 1.0));
  const Term product = Term(node, a).binary(kind, Term(node, b));
  return one(value == 1.0 ? x + product : x + product * value);
}

Result<Values> lerp(NodeContext& node) {
  KILN_ASSIGN(const Term x, input(node));
  const mlir::Type type = elementOf(*x.value());
  KILN_ASSIGN(const Value end, node.operand("end", type));
  KILN_ASSIGN(const Value weight, node.operand("weight", type));
  return one(x + Term(node, weight) * (Term(node, end) - x));
}

constexpr auto kWide = Precision::kWidened;
constexpr Row kRows[] = {
    {"abs", unary<UnaryKind::Abs>},
    {"acos", unary<UnaryKind::Acos>, kWide},
    {"acosh", unary<UnaryKind::Acosh>, kWide},
    {"add", sum<BinaryKind::Add>, kWide},
    {"addcdiv", addProduct<BinaryKind::Div>, kWide},
    {"addcmul", addProduct<BinaryKind::Mul>, kWide},
    {"asin", unary<UnaryKind::Asin>, kWide},
    {"asinh", unary<UnaryKind::Asinh>, kWide},
    {"atan", unary<UnaryKind::Atan>, kWide},
    {"atanh", unary<UnaryKind::Atanh>, kWide},
    {"bitwise_and", binary<BinaryKind::And>},
    {"__and__", binary<BinaryKind::And>},
    {"bitwise_not", unary<UnaryKind::Not>},
    {"bitwise_or", binary<BinaryKind::Or>},
    {"__or__", binary<BinaryKind::Or>},
    {"bitwise_xor", binary<BinaryKind::Xor>},
    {"__xor__", binary<BinaryKind::Xor>},
    {"ceil", rounded<UnaryKind::Ceil>},
    {"cos", unary<UnaryKind::Cos>, kWide},
    {"cosh", unary<UnaryKind::Cosh>, kWide},
    {"div", divide, kWide},
    {"divide", divide, kWide},
    {"erf", unary<UnaryKind::Erf>, kWide},
    {"erfc", erfc, kWide},
    {"exp", unary<UnaryKind::Exp>, kWide},
    {"exp2", exponentialOfTwo, kWide},
    {"expm1", unary<UnaryKind::Expm1>, kWide},
    {"floor", rounded<UnaryKind::Floor>},
    {"floor_divide", floorDivide, kWide},
    {"fmod", binary<BinaryKind::Rem>, kWide},
    {"lerp", lerp, kWide},
    {"log", unary<UnaryKind::Log>, kWide},
    {"log10", logarithm<10>, kWide},
    {"log1p", unary<UnaryKind::Log1p>, kWide},
    {"log2", logarithm<2>, kWide},
    {"maximum", binary<BinaryKind::Max>},
    {"minimum", binary<BinaryKind::Min>},
    {"mul", binary<BinaryKind::Mul>, kWide},
    {"multiply", binary<BinaryKind::Mul>, kWide},
    {"neg", negated},
    {"pow", power, kWide},
    {"reciprocal", unary<UnaryKind::Reciprocal>, kWide},
    {"remainder", binary<BinaryKind::Mod>, kWide},
    {"round", rounded<UnaryKind::Round>},
    {"rsqrt", rsqrt, kWide},
    {"rsub", sum<BinaryKind::Sub, true>, kWide},
    {"sign", unary<UnaryKind::Sign>},
    {"sin", unary<UnaryKind::Sin>, kWide},
    {"sinh", unary<UnaryKind::Sinh>, kWide},
    {"sqrt", unary<UnaryKind::Sqrt>, kWide},
    {"square", square, kWide},
    {"sub", sum<BinaryKind::Sub>, kWide},
    {"tan", unary<UnaryKind::Tan>, kWide},
    {"true_divide", divide, kWide},
    {"trunc", truncated},
};

}  // namespace

std::span<const Row> elementwiseRows() {
  return kRows;
}

}  // namespace kiln::torch
