// Functions of one, two or several values, element by element.
#include <limits>

#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/shared.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

using ir::BinaryKind;
using ir::CompareKind;
using ir::UnaryKind;

template <UnaryKind kind>
Result<Values> unary(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value result, node.unary(kind, input));
  return Values{result};
}

// Before version 7 broadcasting was asked for, one way, and could start at an axis.
Result<Value> legacyOperand(NodeContext& node, Value lhs, Value rhs) {
  KILN_ASSIGN(std::int64_t broadcast, node.integer("broadcast", 0));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", rankOf(lhs) - rankOf(rhs)));
  if (!broadcast) {
    Shape both = dimsOf(lhs);
    if (both != dimsOf(rhs)) {
      llvm::append_range(both, dimsOf(rhs));
      return unfit("operands differ in shape without broadcast=1", both);
    }
    return rhs;
  }
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(lhs) + 1));
  if (axis + rankOf(rhs) > rankOf(lhs))
    return fail(Code::kInvalidArgument, "the second operand does not fit at the axis");
  Shape shape = dimsOf(rhs);
  shape.resize(static_cast<std::size_t>(rankOf(lhs) - axis), 1);
  return node.reshape(rhs, shape);
}

Result<std::pair<Value, Value>> operands(NodeContext& node) {
  KILN_ASSIGN(Value lhs, node.input(0));
  KILN_ASSIGN(Value rhs, node.input(1));
  if (node.opset() < 7) {
    KILN_ASSIGN(rhs, legacyOperand(node, lhs, rhs));
  }
  return std::pair(lhs, rhs);
}

template <BinaryKind kind>
Result<Values> binary(NodeContext& node) {
  KILN_ASSIGN(auto pair, operands(node));
  KILN_ASSIGN(Value result, node.binary(kind, pair.first, pair.second));
  return Values{result};
}

// The exponent may have another type than the base, which gives the result's. Powers of integers by floats,
// and of floats by integers that they hold, are those of floats.
Result<Values> power(NodeContext& node) {
  KILN_ASSIGN(auto pair, operands(node));
  auto [base, exponent] = pair;
  const mlir::Type element = elementOf(base);
  if (!isFloat(base) && !isFloat(exponent)) {
    // In the wider of the two types, the exponent's sign kept: the lowest bits are those of the base's type.
    const bool isWider = elementOf(exponent).getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth();
    const mlir::Type working = isWider ? elementOf(exponent) : element;
    KILN_ASSIGN(base, node.cast(base, working));
    KILN_ASSIGN(exponent, node.cast(exponent, working));
    KILN_ASSIGN(Value result, node.binary(BinaryKind::Pow, base, exponent));
    KILN_ASSIGN(result, node.cast(result, element));
    return Values{result};
  }
  const mlir::Type f64 = mlir::Float64Type::get(node.context());
  const bool exact = isFloat(base) && elementOf(exponent) == element;
  const mlir::Type working = exact                                                              ? element
                             : isFloat(base) && element.isF32() && !elementOf(exponent).isF64() ? element
                                                                                                : f64;
  KILN_ASSIGN(exponent, node.cast(exponent, working));
  // The common small powers are exact products; the library function would only be slower.
  auto constant = NodeContext::constantScalar(exponent);
  KILN_ASSIGN(Shape shape, node.broadcastDims(dimsOf(base), dimsOf(exponent)));
  if (isFloat(base) && constant == 2.0 && dimsOf(base) == shape) {
    KILN_ASSIGN(Value square, node.binary(BinaryKind::Mul, base, base));
    return Values{square};
  }
  KILN_ASSIGN(base, node.cast(base, working));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Pow, base, exponent));
  KILN_ASSIGN(result, node.cast(result, element));
  return Values{result};
}

// fmod=1: the dividend's sign. Floats need it.
Result<Values> modulo(NodeContext& node) {
  KILN_ASSIGN(auto pair, operands(node));
  KILN_ASSIGN(std::int64_t truncates, node.integer("fmod", 0));
  if (isFloat(pair.first) && !truncates) return fail(Code::kInvalidArgument, "floats need fmod=1");
  KILN_ASSIGN(Value result,
              node.binary(truncates ? BinaryKind::Rem : BinaryKind::Mod, pair.first, pair.second));
  return Values{result};
}

Result<Values> bitShift(NodeContext& node) {
  KILN_ASSIGN(auto pair, operands(node));
  KILN_ASSIGN(std::string direction, node.text("direction", ""));
  if (direction != "LEFT" && direction != "RIGHT")
    return fail(Code::kInvalidArgument, "attribute 'direction' is '" + direction + "', not LEFT or RIGHT");
  KILN_ASSIGN(Value result,
              node.binary(direction == "LEFT" ? BinaryKind::Shl : BinaryKind::Shr, pair.first, pair.second));
  return Values{result};
}

// 8-bit floats as the f32 they are, to be compared.
Result<Value> comparable(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  if (elementOf(x).getIntOrFloatBitWidth() >= 16) return x;
  return node.cast(x, mlir::Float32Type::get(node.context()));
}

Result<Values> isNan(NodeContext& node) {
  KILN_ASSIGN(Value x, comparable(node));
  KILN_ASSIGN(Value number, node.compare(CompareKind::Eq, x, x));
  KILN_ASSIGN(Value result, node.unary(UnaryKind::Not, number));
  return Values{result};
}

Result<Values> isInf(NodeContext& node) {
  KILN_ASSIGN(Value x, comparable(node));
  KILN_ASSIGN(std::int64_t positive, node.integer("detect_positive", 1));
  KILN_ASSIGN(std::int64_t negative, node.integer("detect_negative", 1));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!positive && !negative) {
    KILN_ASSIGN(Value none, node.filled(mlir::IntegerType::get(node.context(), 1), dimsOf(x), 0));
    return Values{none};
  }
  if (positive && negative) {
    KILN_ASSIGN(x, node.unary(UnaryKind::Abs, x));
  }
  KILN_ASSIGN(Value result,
              node.compare(CompareKind::Eq, x, node.scalar(elementOf(x), positive ? kInfinity : -kInfinity)));
  return Values{result};
}

// Max, Min, Sum of one or more operands, from left to right.
template <BinaryKind kind>
Result<Values> variadic(NodeContext& node) {
  KILN_ASSIGN(Value result, node.input(0));
  for (std::size_t i = 1; i < node.inputCount(); ++i) {
    KILN_ASSIGN(Value next, node.input(i));
    KILN_ASSIGN(result, node.binary(kind, result, next));
  }
  return Values{result};
}

Result<Values> meanOf(NodeContext& node) {
  KILN_ASSIGN(Values sum, variadic<BinaryKind::Add>(node));
  Value count = node.scalar(elementOf(sum[0]), static_cast<double>(node.inputCount()));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Div, sum[0], count));
  return Values{result};
}

template <CompareKind kind>
Result<Values> compare(NodeContext& node) {
  KILN_ASSIGN(auto pair, operands(node));
  KILN_ASSIGN(Value result, node.compare(kind, pair.first, pair.second));
  return Values{result};
}

Result<Values> where(NodeContext& node) {
  KILN_ASSIGN(Value condition, node.input(0));
  KILN_ASSIGN(Value onTrue, node.input(1));
  KILN_ASSIGN(Value onFalse, node.input(2));
  KILN_ASSIGN(Value result, node.select(condition, onTrue, onFalse));
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "Acos", 7, kMaxOpset, unary<UnaryKind::Acos>},
    {"", "Acosh", 9, kMaxOpset, unary<UnaryKind::Acosh>},
    {"", "Asin", 7, kMaxOpset, unary<UnaryKind::Asin>},
    {"", "Asinh", 9, kMaxOpset, unary<UnaryKind::Asinh>},
    {"", "Atan", 7, kMaxOpset, unary<UnaryKind::Atan>},
    {"", "Atanh", 9, kMaxOpset, unary<UnaryKind::Atanh>},
    {"", "Cosh", 9, kMaxOpset, unary<UnaryKind::Cosh>},
    {"", "Sign", 9, kMaxOpset, unary<UnaryKind::Sign>},
    {"", "Sinh", 9, kMaxOpset, unary<UnaryKind::Sinh>},
    {"", "Tan", 7, kMaxOpset, unary<UnaryKind::Tan>},
    {"", "BitwiseNot", 18, kMaxOpset, unary<UnaryKind::Not>},
    {"", "BitShift", 11, kMaxOpset, bitShift},
    {"", "IsInf", 10, kMaxOpset, isInf},
    {"", "IsNaN", 9, kMaxOpset, isNan},
    {"", "Mod", 10, kMaxOpset, modulo},
    {"", "Abs", 6, kMaxOpset, unary<UnaryKind::Abs>},
    {"", "Ceil", 6, kMaxOpset, unary<UnaryKind::Ceil>},
    {"", "Cos", 7, kMaxOpset, unary<UnaryKind::Cos>},
    {"", "Erf", 9, kMaxOpset, unary<UnaryKind::Erf>},
    {"", "Exp", 6, kMaxOpset, unary<UnaryKind::Exp>},
    {"", "Floor", 6, kMaxOpset, unary<UnaryKind::Floor>},
    {"", "Log", 6, kMaxOpset, unary<UnaryKind::Log>},
    {"", "Neg", 6, kMaxOpset, unary<UnaryKind::Neg>},
    {"", "Not", 1, kMaxOpset, unary<UnaryKind::Not>},
    {"", "Reciprocal", 6, kMaxOpset, unary<UnaryKind::Reciprocal>},
    {"", "Relu", 6, kMaxOpset, unary<UnaryKind::Relu>},
    {"", "Round", 11, kMaxOpset, unary<UnaryKind::Round>},
    {"", "Sigmoid", 6, kMaxOpset, unary<UnaryKind::Sigmoid>},
    {"", "Sin", 7, kMaxOpset, unary<UnaryKind::Sin>},
    {"", "Sqrt", 6, kMaxOpset, unary<UnaryKind::Sqrt>},
    {"", "Tanh", 6, kMaxOpset, unary<UnaryKind::Tanh>},
    {"", "Add", 6, kMaxOpset, binary<BinaryKind::Add>},
    {"", "Sub", 6, kMaxOpset, binary<BinaryKind::Sub>},
    {"", "Mul", 6, kMaxOpset, binary<BinaryKind::Mul>},
    {"", "Div", 6, kMaxOpset, binary<BinaryKind::Div>},
    {"", "Pow", 6, kMaxOpset, power},
    {"", "And", 6, kMaxOpset, binary<BinaryKind::And>},
    {"", "Or", 6, kMaxOpset, binary<BinaryKind::Or>},
    {"", "Xor", 6, kMaxOpset, binary<BinaryKind::Xor>},
    {"", "BitwiseAnd", 18, kMaxOpset, binary<BinaryKind::And>},
    {"", "BitwiseOr", 18, kMaxOpset, binary<BinaryKind::Or>},
    {"", "BitwiseXor", 18, kMaxOpset, binary<BinaryKind::Xor>},
    {"", "Max", 6, kMaxOpset, variadic<BinaryKind::Max>},
    {"", "Min", 6, kMaxOpset, variadic<BinaryKind::Min>},
    {"", "Sum", 6, kMaxOpset, inF32<variadic<BinaryKind::Add>>},
    {"", "Mean", 6, kMaxOpset, inF32<meanOf>},
    {"", "Equal", 6, kMaxOpset, compare<CompareKind::Eq>},
    {"", "Less", 6, kMaxOpset, compare<CompareKind::Lt>},
    {"", "LessOrEqual", 12, kMaxOpset, compare<CompareKind::Le>},
    {"", "Greater", 6, kMaxOpset, compare<CompareKind::Gt>},
    {"", "GreaterOrEqual", 12, kMaxOpset, compare<CompareKind::Ge>},
    {"", "Where", 9, kMaxOpset, where},
};

}  // namespace

std::span<const Operator> elementwiseOperators() {
  return kRows;
}

}  // namespace kiln::onnx
