// Arithmetic, comparison, choice and conversion.
#include "compiler_core/frontend/stablehlo/operations/elementwise.h"

#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {
namespace {

using ir::BinaryKind;
using ir::CompareKind;
using ir::UnaryKind;

bool isBool(mlir::Type element) {
  return element.isInteger(1);
}
bool isBelowByte(mlir::Type element) {
  return element.isInteger() && element.getIntOrFloatBitWidth() < 8 && !isBool(element);
}

// Integers below a byte have no arithmetic of their own: they are calculated with in a byte, and wrap.
Result<Value> widened(OperationContext& op, Value value) {
  const mlir::Type element = elementOf(value);
  if (!isBelowByte(element)) return value;
  return op.cast(value, element.isUnsignedInteger()
                            ? mlir::IntegerType::get(op.context(), 8, mlir::IntegerType::Unsigned)
                            : mlir::IntegerType::get(op.context(), 8));
}

template <UnaryKind kind>
Result<Values> unary(OperationContext& op) {
  KILN_ASSIGN(Value input, widened(op, op.operand(0)));
  KILN_ASSIGN(Value result, op.unary(kind, input));
  KILN_ASSIGN(result, op.cast(result, elementOf(op.operand(0))));
  return Values{result};
}

template <BinaryKind kind>
Result<Values> binary(OperationContext& op) {
  KILN_ASSIGN(Value result, combine(op, kind, op.operand(0), op.operand(1)));
  return Values{result};
}

// A division by zero is the implementation's: as XLA has it, every bit is set, and the remainder is the
// dividend.
Result<Value> integerDivision(OperationContext& op, BinaryKind kind, Value lhs, Value rhs) {
  KILN_ASSIGN(Value result, op.binary(kind, lhs, rhs));
  if (auto known = frontend::GraphBuilder::constantIntegers(rhs); known && !llvm::is_contained(*known, 0))
    return result;
  Term a(op, lhs), b(op, rhs), quotient(op, result);
  const Term byZero = kind == BinaryKind::Div ? (b.number(0)).unary(UnaryKind::Not) : a;
  return (b == 0.0).select(byZero, quotient).value();
}

template <BinaryKind kind>
Result<Values> division(OperationContext& op) {
  if (isFloat(op.operand(0)) || isBool(elementOf(op.operand(0)))) return binary<kind>(op);
  KILN_ASSIGN(Value lhs, widened(op, op.operand(0)));
  KILN_ASSIGN(Value rhs, widened(op, op.operand(1)));
  KILN_ASSIGN(Value result, integerDivision(op, kind, lhs, rhs));
  KILN_ASSIGN(result, op.cast(result, elementOf(op.operand(0))));
  return Values{result};
}

enum class Shift { kLeft, kLogical, kArithmetic };

template <Shift shift>
Result<Values> shifted(OperationContext& op) {
  const mlir::Type element = elementOf(op.operand(0));
  if (!element.isInteger() || isBool(element)) return invalid("shifts are for integers");
  // By the width or more: kiln.binary takes amounts as unsigned, and the type decides what moves in.
  const mlir::Type as = shift == Shift::kArithmetic ? op.signedOf(element) : op.unsignedOf(element);
  if (isBelowByte(element)) {
    const mlir::Type wide = shift == Shift::kArithmetic
                                ? mlir::IntegerType::get(op.context(), 8)
                                : mlir::IntegerType::get(op.context(), 8, mlir::IntegerType::Unsigned);
    const Term a = op.term(0).cast(as).cast(wide);
    const Term b = op.term(1).cast(op.unsignedOf(element)).cast(wide);
    KILN_ASSIGN(Value result,
                a.binary(shift == Shift::kLeft ? BinaryKind::Shl : BinaryKind::Shr, b).cast(element).value());
    return Values{result};
  }
  KILN_ASSIGN(Value value, op.bitcast(op.operand(0), as));
  KILN_ASSIGN(Value amount, op.bitcast(op.operand(1), as));
  KILN_ASSIGN(Value result,
              op.binary(shift == Shift::kLeft ? BinaryKind::Shl : BinaryKind::Shr, value, amount));
  KILN_ASSIGN(result, op.bitcast(result, element));
  return Values{result};
}

Result<Values> compare(OperationContext& op) {
  KILN_ASSIGN(const std::string direction, op.enumerated("comparison_direction", ""));
  KILN_ASSIGN(const std::string type, op.enumerated("compare_type", "NOTYPE"));
  KILN_ASSIGN(Value lhs, widened(op, op.operand(0)));
  KILN_ASSIGN(Value rhs, widened(op, op.operand(1)));
  if (type == "TOTALORDER" && isFloat(lhs)) {
    KILN_ASSIGN(lhs, totalOrderKey(op, lhs));
    KILN_ASSIGN(rhs, totalOrderKey(op, rhs));
  }
  if (isBool(elementOf(lhs)) && direction != "EQ" && direction != "NE") {
    const mlir::Type byte = mlir::IntegerType::get(op.context(), 8, mlir::IntegerType::Unsigned);
    KILN_ASSIGN(lhs, op.cast(lhs, byte));
    KILN_ASSIGN(rhs, op.cast(rhs, byte));
  }
  const auto kind = llvm::StringSwitch<std::optional<CompareKind>>(direction)
                        .Cases({"EQ", "NE"}, CompareKind::Eq)
                        .Case("LT", CompareKind::Lt)
                        .Case("LE", CompareKind::Le)
                        .Case("GT", CompareKind::Gt)
                        .Case("GE", CompareKind::Ge)
                        .Default(std::nullopt);
  if (!kind) return invalid("there is no comparison direction '" + direction + "'");
  KILN_ASSIGN(Value result, op.compare(*kind, lhs, rhs));
  if (direction == "NE") {
    KILN_ASSIGN(result, op.unary(UnaryKind::Not, result));
  }
  return Values{result};
}

Result<Values> select(OperationContext& op) {
  if (!isBool(elementOf(op.operand(0)))) return invalid("the condition is no i1");
  KILN_ASSIGN(Value result, op.select(op.operand(0), op.operand(1), op.operand(2)));
  return Values{result};
}

Result<Values> clamp(OperationContext& op) {
  KILN_ASSIGN(Value raised, combine(op, BinaryKind::Max, op.operand(1), op.operand(0)));
  KILN_ASSIGN(Value result, combine(op, BinaryKind::Min, raised, op.operand(2)));
  return Values{result};
}

Result<Values> convert(OperationContext& op) {
  KILN_ASSIGN(Value result, op.cast(op.operand(0), op.resultElement()));
  return Values{result};
}

// x * x
Result<Values> square(OperationContext& op) {
  KILN_ASSIGN(Value result, op.binary(BinaryKind::Mul, op.operand(0), op.operand(0)));
  return Values{result};
}

// The value itself: what only a partitioner or a memory planner would look at.
Result<Values> identity(OperationContext& op) {
  return Values(op.operands());
}

}  // namespace

Result<Value> combine(OperationContext& op, BinaryKind kind, Value lhs, Value rhs) {
  const mlir::Type element = elementOf(lhs);
  if (isBool(element)) {
    if (kind == BinaryKind::Add || kind == BinaryKind::Max) kind = BinaryKind::Or;
    if (kind == BinaryKind::Mul || kind == BinaryKind::Min) kind = BinaryKind::And;
  }
  if (element != elementOf(rhs)) return invalid("operands have different element types");
  KILN_ASSIGN(Value a, widened(op, lhs));
  KILN_ASSIGN(Value b, widened(op, rhs));
  KILN_ASSIGN(Value result, op.binary(kind, a, b));
  return op.cast(result, element);
}

Result<Value> totalOrderKey(OperationContext& op, Value value) {
  const mlir::Type integer = op.signedOf(elementOf(value));
  KILN_ASSIGN(Value bits, op.bitcast(value, integer));
  const Term key(op, bits);
  // Every bit but the sign of negative numbers is turned over: the larger their magnitude, the smaller they
  // are.
  const Term sign = key.binary(BinaryKind::Shr, key.number(integer.getIntOrFloatBitWidth() - 1));
  KILN_ASSIGN(Value unsignedSign, sign.value());
  KILN_ASSIGN(unsignedSign, op.bitcast(unsignedSign, op.unsignedOf(integer)));
  const Term all(op, unsignedSign);
  KILN_ASSIGN(Value mask, all.binary(BinaryKind::Shr, all.number(1)).value());
  KILN_ASSIGN(mask, op.bitcast(mask, integer));
  return op.binary(BinaryKind::Xor, bits, mask);
}

std::span<const Row> elementwiseRows() {
  static constexpr Row kRows[] = {
      {"abs", unary<UnaryKind::Abs>, 1, 0, true},
      {"add", binary<BinaryKind::Add>, 2, 0, true},
      {"and", binary<BinaryKind::And>, 2, 0, true},
      {"ceil", unary<UnaryKind::Ceil>, 1, 0, true},
      {"chlo.acos", unary<UnaryKind::Acos>, 1, 0, true},
      {"chlo.acosh", unary<UnaryKind::Acosh>, 1, 0, true},
      {"chlo.asin", unary<UnaryKind::Asin>, 1, 0, true},
      {"chlo.asinh", unary<UnaryKind::Asinh>, 1, 0, true},
      {"chlo.atan", unary<UnaryKind::Atan>, 1, 0, true},
      {"chlo.atanh", unary<UnaryKind::Atanh>, 1, 0, true},
      {"chlo.cosh", unary<UnaryKind::Cosh>, 1, 0, true},
      {"chlo.erf", unary<UnaryKind::Erf>, 1, 0, true},
      {"chlo.sinh", unary<UnaryKind::Sinh>, 1, 0, true},
      {"chlo.square", square, 1, 0, true},
      {"chlo.tan", unary<UnaryKind::Tan>, 1, 0, true},
      {"clamp", clamp, 3, 0, true},
      {"compare", compare, 2, 0, true},
      {"convert", convert, 1, 0, true},
      {"cosine", unary<UnaryKind::Cos>, 1, 0, true},
      {"divide", division<BinaryKind::Div>, 2, 0, true},
      {"exponential", unary<UnaryKind::Exp>, 1, 0, true},
      {"exponential_minus_one", unary<UnaryKind::Expm1>, 1, 0, true},
      {"floor", unary<UnaryKind::Floor>, 1, 0, true},
      {"log", unary<UnaryKind::Log>, 1, 0, true},
      {"log_plus_one", unary<UnaryKind::Log1p>, 1, 0, true},
      {"logistic", unary<UnaryKind::Sigmoid>, 1, 0, true},
      {"maximum", binary<BinaryKind::Max>, 2, 0, true},
      {"minimum", binary<BinaryKind::Min>, 2, 0, true},
      {"multiply", binary<BinaryKind::Mul>, 2, 0, true},
      {"negate", unary<UnaryKind::Neg>, 1, 0, true},
      {"not", unary<UnaryKind::Not>, 1, 0, true},
      {"optimization_barrier", identity, 0, 0, false, true},
      {"or", binary<BinaryKind::Or>, 2, 0, true},
      {"power", binary<BinaryKind::Pow>, 2, 0, true},
      {"remainder", division<BinaryKind::Rem>, 2, 0, true},
      {"round_nearest_even", unary<UnaryKind::Round>, 1, 0, true},
      {"select", select, 3, 0, true},
      {"shift_left", shifted<Shift::kLeft>, 2, 0, true},
      {"shift_right_arithmetic", shifted<Shift::kArithmetic>, 2, 0, true},
      {"shift_right_logical", shifted<Shift::kLogical>, 2, 0, true},
      {"sign", unary<UnaryKind::Sign>, 1, 0, true},
      {"sine", unary<UnaryKind::Sin>, 1, 0, true},
      {"sqrt", unary<UnaryKind::Sqrt>, 1, 0, true},
      {"subtract", binary<BinaryKind::Sub>, 2, 0, true},
      {"tan", unary<UnaryKind::Tan>, 1, 0, true},
      {"tanh", unary<UnaryKind::Tanh>, 1, 0, true},
      {"xor", binary<BinaryKind::Xor>, 2, 0, true},
  };
  return kRows;
}

}  // namespace kiln::stablehlo
