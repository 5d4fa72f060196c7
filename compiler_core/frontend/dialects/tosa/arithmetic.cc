// Elementwise operations of two tensors or three.
#include "compiler_core/frontend/dialects/operations/elementwise.h"
#include "compiler_core/frontend/dialects/tosa/rows.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

namespace kiln::dialects::tosa {
namespace {

using ir::BinaryKind;
using ir::CompareKind;
using mlir::tosa::NanPropagationMode;

// Sums of integers that leave their type have no meaning in TOSA; here they wrap.
template <BinaryKind kind>
Result<Values> binary(OperationContext& op) {
  return one(op.term(0).binary(kind, op.term(1)));
}

template <CompareKind kind>
Result<Values> compare(OperationContext& op) {
  return one(op.term(0).compare(kind, op.term(1)));
}

template <class Op, BinaryKind kind>
Result<Values> extremum(OperationContext& op) {
  if (isFloat(op.operand(0)) && op.as<Op>().getNanMode() == NanPropagationMode::IGNORE)
    return one(ignoringNan(kind, op.term(0), op.term(1)));
  return one(op.term(0).binary(kind, op.term(1)));
}

// A power of f16 and bf16 is calculated in f32 and rounded once.
Result<Values> power(OperationContext& op) {
  const bool isNarrow = elementOf(op.operand(0)).getIntOrFloatBitWidth() < 32;
  if (!isNarrow) return one(op.term(0).binary(BinaryKind::Pow, op.term(1)));
  const Term result = op.term(0).cast(op.f32()).binary(BinaryKind::Pow, op.term(1).cast(op.f32()));
  return one(result.cast(op.resultElement()));
}

// Shifts by what is no constant of the width or more have no meaning.
Result<Values> shiftRight(OperationContext& op) {
  auto shift = op.as<mlir::tosa::ArithmeticRightShiftOp>();
  const Term value = op.term(0), by = op.term(1);
  const Term result = value.binary(BinaryKind::Shr, by);
  if (!shift.getRound()) return one(result);
  // The last bit that is shifted out, where there is one.
  const Term last = value.binary(BinaryKind::Shr, max(by - 1.0, 0.0)) & value.number(1);
  return one(result + (by > 0.0).select(last, 0.0));
}

Result<Values> logicalShiftRight(OperationContext& op) {
  return one(unsignedBinary(op, BinaryKind::Shr, op.term(0), op.term(1)));
}

// Integer products are wider than their factors; those of i32 are shifted right with rounding.
Result<Values> multiply(OperationContext& op) {
  const mlir::Type element = op.resultElement();
  if (isFloat(op.operand(0))) return one(op.term(0) * op.term(1));
  KILN_ASSIGN(const Dims shift, op.numbers(op.operand(2), "the shift of a product"));
  if (shift.size() != 1 || shift[0] < 0 || shift[0] > 63) return invalid("the shift is not within 0 and 63");
  if (shift[0] == 0) return one(op.term(0).cast(element) * op.term(1).cast(element));
  const Term product = op.term(0).cast(op.i64()) * op.term(1).cast(op.i64());
  const Term half = op.term(op.integer(op.i64(), std::int64_t{1} << (shift[0] - 1)));
  return one(
      (product + half).binary(BinaryKind::Shr, product.number(static_cast<double>(shift[0]))).cast(element));
}

Result<Values> select(OperationContext& op) {
  return one(op.term(0).select(op.term(1), op.term(2)));
}

}  // namespace

std::span<const Row> arithmeticRows() {
  using mlir::tosa::MaximumOp;
  using mlir::tosa::MinimumOp;
  static constexpr Row kRows[] = {
      {"tosa.add", binary<BinaryKind::Add>},
      {"tosa.arithmetic_right_shift", shiftRight},
      {"tosa.bitwise_and", binary<BinaryKind::And>},
      {"tosa.bitwise_or", binary<BinaryKind::Or>},
      {"tosa.bitwise_xor", binary<BinaryKind::Xor>},
      {"tosa.equal", compare<CompareKind::Eq>},
      {"tosa.greater", compare<CompareKind::Gt>},
      {"tosa.greater_equal", compare<CompareKind::Ge>},
      {"tosa.intdiv", binary<BinaryKind::Div>},
      {"tosa.logical_and", binary<BinaryKind::And>},
      {"tosa.logical_left_shift", binary<BinaryKind::Shl>},
      {"tosa.logical_or", binary<BinaryKind::Or>},
      {"tosa.logical_right_shift", logicalShiftRight},
      {"tosa.logical_xor", binary<BinaryKind::Xor>},
      {"tosa.maximum", extremum<MaximumOp, BinaryKind::Max>},
      {"tosa.minimum", extremum<MinimumOp, BinaryKind::Min>},
      {"tosa.mul", multiply},
      {"tosa.pow", power},
      {"tosa.select", select},
      {"tosa.sub", binary<BinaryKind::Sub>},
  };
  return kRows;
}

}  // namespace kiln::dialects::tosa
