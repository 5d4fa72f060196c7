// Rescaling, tables, and what other families calculate with integers.
#include "compiler_core/frontend/dialects/tosa/integers.h"

#include "compiler_core/frontend/dialects/operations/elementwise.h"
#include "compiler_core/frontend/dialects/tosa/rows.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

namespace kiln::dialects::tosa {

using ir::BinaryKind;

IntegerBounds boundsOf(unsigned width, bool isUnsigned) {
  if (isUnsigned) return {0, (std::int64_t{1} << width) - 1};
  const std::int64_t half = std::int64_t{1} << (width - 1);
  return {-half, half - 1};
}

Result<std::int64_t> zeroPoint(OperationContext& op, std::size_t operand, bool isUnsigned) {
  const Value value = op.operand(operand);
  if (isFloat(value)) {
    const auto number = frontend::GraphBuilder::constantScalar(value);
    if (number && *number != 0) return invalid("the zero point of floats is not 0");
    return 0;
  }
  KILN_ASSIGN(const Dims numbers, op.numbers(value, "a zero point"));
  if (numbers.size() != 1) return invalid("a zero point is one number");
  const unsigned width = elementOf(value).getIntOrFloatBitWidth();
  if (!isUnsigned || width >= 32) return numbers[0];
  return numbers[0] & ((std::int64_t{1} << width) - 1);
}

Result<Value> withoutZero(OperationContext& op, std::size_t index, std::size_t zero, mlir::Type accumulator) {
  const Value value = op.operand(index);
  const bool isUnsigned = elementOf(value).isUnsignedInteger();
  KILN_ASSIGN(const std::int64_t point, zeroPoint(op, zero, isUnsigned));
  Term wide = op.term(value).cast(accumulator);
  if (point != 0) wide = wide - op.term(op.integer(accumulator, point));
  return wide.value();
}

Term applyScale(OperationContext& op, const Term& value, const Term& multiplier, const Term& shift,
                bool doubleRound) {
  const Term unit = op.term(op.integer(op.i64(), 1));
  Term rounding = unit.binary(BinaryKind::Shl, shift - 1.0);
  if (doubleRound) {
    const Term more = op.term(op.integer(op.i64(), std::int64_t{1} << 30));
    const Term signedMore = (value >= 0.0).select(more, -more);
    rounding = rounding + (shift > 31.0).select(signedMore, 0.0);
  }
  return (value * multiplier + rounding).binary(BinaryKind::Shr, shift);
}

namespace {

// One factor for all, or one for each element of the last dimension.
Result<Term> factors(OperationContext& op, std::size_t operand, bool perChannel) {
  const Value list = op.operand(operand);
  if (!perChannel && dimsOf(list) != Shape{Dim(1)}) return invalid("one factor is for all channels");
  Term wide = op.term(list).cast(op.i64());
  return perChannel ? wide : wide.reshape(Dims{});
}

Result<Values> rescale(OperationContext& op) {
  auto rescale = op.as<mlir::tosa::RescaleOp>();
  mlir::Type from = elementOf(op.operand(0)), to = op.resultElement();
  if (isFloat(op.operand(0)) || llvm::isa<mlir::FloatType>(to)) return invalid("floats are not rescaled");
  const bool fromUnsigned = rescale.getInputUnsigned() || from.isUnsignedInteger();
  const bool toUnsigned = rescale.getOutputUnsigned() || to.isUnsignedInteger();
  // The declared width, since i48 has become i64 here.
  const auto declared = llvm::cast<mlir::ShapedType>(rescale.getOutput().getType()).getElementType();
  const unsigned width = declared.getIntOrFloatBitWidth();
  if (width > 48 || width < 8) return unserved("rescaling to integers of this width is not served");
  KILN_ASSIGN(const std::int64_t inputZero, zeroPoint(op, 3, fromUnsigned));
  KILN_ASSIGN(const std::int64_t outputZero, zeroPoint(op, 4, toUnsigned));
  Term value = op.term(0);
  if (fromUnsigned && !from.isUnsignedInteger()) value = bitsOf(op, value);
  value = value.cast(op.i64());
  if (inputZero != 0) value = value - op.term(op.integer(op.i64(), inputZero));
  KILN_ASSIGN(const Term multiplier, factors(op, 1, rescale.getPerChannel()));
  KILN_ASSIGN(const Term shift, factors(op, 2, rescale.getPerChannel()));
  const bool doubleRound =
      rescale.getRoundingMode() == mlir::tosa::RoundingMode::DOUBLE_ROUND && rescale.getScale32();
  Term result = applyScale(op, value, multiplier, shift, doubleRound);
  if (outputZero != 0) result = result + op.term(op.integer(op.i64(), outputZero));
  const IntegerBounds bounds = boundsOf(width, toUnsigned);
  return one(clampInteger(op, result, bounds.low, bounds.high).cast(to));
}

// 256 entries for i8. For i16, 513 entries that are 128 apart, with straight lines between them: 7 bits of
// fraction stay in the result.
Result<Values> table(OperationContext& op) {
  const mlir::Type from = elementOf(op.operand(0));
  const Value entries = op.operand(1);
  if (from.isInteger(8)) {
    if (dimsOf(entries) != Shape{Dim(256)}) return invalid("the table of i8 has not 256 entries");
    const Term index = op.term(0).cast(op.i32()) + 128.0;
    return one(op.term(entries).gather(index, 0));
  }
  if (!from.isInteger(16)) return invalid("tables are of i8 and i16");
  if (dimsOf(entries) != Shape{Dim(513)}) return invalid("the table of i16 has not 513 entries");
  const Term input = op.term(0).cast(op.i32()) + 32768.0;
  const Term index = input.binary(BinaryKind::Shr, input.number(7)), fraction = input & input.number(127);
  const Term wide = op.term(entries).cast(op.i32());
  const Term base = wide.gather(index, 0), next = wide.gather(index + 1.0, 0);
  return one(base * 128.0 + (next - base) * fraction);
}

}  // namespace

std::span<const Row> integerRows() {
  static constexpr Row kRows[] = {{"tosa.rescale", rescale}, {"tosa.table", table}};
  return kRows;
}

}  // namespace kiln::dialects::tosa
