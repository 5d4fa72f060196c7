// Elementwise operations of one tensor, casts and activations.
#include <cmath>
#include <limits>

#include "compiler_core/frontend/dialects/operations/elementwise.h"
#include "compiler_core/frontend/dialects/tosa/integers.h"
#include "compiler_core/frontend/dialects/tosa/rows.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

namespace kiln::dialects::tosa {
namespace {

using ir::BinaryKind;
using ir::UnaryKind;
using mlir::tosa::NanPropagationMode;

template <UnaryKind kind>
Result<Values> unary(OperationContext& op) {
  return one(op.term(0).unary(kind));
}

// f16 and bf16 are calculated in f32 and rounded once.
Result<Values> reciprocalRoot(OperationContext& op) {
  const mlir::Type element = op.resultElement();
  const mlir::Type wide = element.getIntOrFloatBitWidth() < 32 ? op.f32() : element;
  return one(op.term(0).cast(wide).sqrt().unary(UnaryKind::Reciprocal).cast(element));
}

Result<Values> countLeadingZeros(OperationContext& op) {
  return one(leadingZeros(op, op.term(0)));
}

// Zero points are of integers; sums that leave the type saturate.
Result<Values> negate(OperationContext& op) {
  if (isFloat(op.operand(0))) return one(-op.term(0));
  const mlir::Type element = op.resultElement();
  const unsigned width = element.getIntOrFloatBitWidth();
  KILN_ASSIGN(const std::int64_t inputZero, zeroPoint(op, 1, /*isUnsigned=*/false));
  KILN_ASSIGN(const std::int64_t outputZero, zeroPoint(op, 2, /*isUnsigned=*/false));
  if (width == 32) return one(-op.term(0));  // which have no zero points, and wrap
  const Term sum = op.term(op.integer(op.i32(), inputZero + outputZero)) - op.term(0).cast(op.i32());
  const std::int64_t most = (std::int64_t{1} << (width - 1)) - 1;
  return one(clampInteger(op, sum, -most - 1, most).cast(element));
}

Result<Values> identity(OperationContext& op) {
  return op.operands();
}

Result<Values> clamp(OperationContext& op) {
  auto clamp = op.as<mlir::tosa::ClampOp>();
  const Term value = op.term(0);
  if (!isFloat(op.operand(0))) {
    const auto low = llvm::dyn_cast<mlir::IntegerAttr>(clamp.getMinVal());
    const auto high = llvm::dyn_cast<mlir::IntegerAttr>(clamp.getMaxVal());
    if (!low || !high) return invalid("the bounds of integers are no integers");
    const bool isUnsigned = elementOf(op.operand(0)).isUnsignedInteger();
    auto number = [&](mlir::IntegerAttr bound) {
      return isUnsigned ? static_cast<std::int64_t>(bound.getValue().getZExtValue())
                        : bound.getValue().getSExtValue();
    };
    return one(clampInteger(op, value, number(low), number(high)));
  }
  const auto low = llvm::dyn_cast<mlir::FloatAttr>(clamp.getMinVal());
  const auto high = llvm::dyn_cast<mlir::FloatAttr>(clamp.getMaxVal());
  if (!low || !high) return invalid("the bounds of floats are no floats");
  const Term least = value.number(low.getValueAsDouble()), most = value.number(high.getValueAsDouble());
  if (clamp.getNanMode() == NanPropagationMode::IGNORE)
    return one(min(isNan(value).select(least, max(value, least)), most));
  return one(min(max(value, least), most));
}

// To the nearest integer, ties to even, within the bounds of the type.
Term toInteger(OperationContext& op, const Term& value, mlir::Type element) {
  if (!value.ok()) return value;
  const bool isWide = elementOf(*value.value()).getIntOrFloatBitWidth() >= 32;
  return (isWide ? value : value.cast(op.f32())).unary(UnaryKind::Round).cast(element);
}

Result<Values> cast(OperationContext& op) {
  const mlir::Type from = elementOf(op.operand(0)), to = op.resultElement();
  const bool isToInteger = llvm::isa<mlir::IntegerType>(to) && !to.isInteger(1);
  if (llvm::isa<mlir::FloatType>(from) && isToInteger) {
    const Term value = op.term(0);
    return one(toInteger(op, value, to));
  }
  // Beyond the range of an 8-bit float is infinity, or NaN where it has none.
  const bool isTiny = llvm::isa<mlir::FloatType>(to) && to.getIntOrFloatBitWidth() == 8;
  return one(op.cast(op.operand(0), to, /*overflow=*/isTiny));
}

}  // namespace

std::span<const Row> unaryRows() {
  static constexpr Row kRows[] = {
      {"tosa.abs", unary<UnaryKind::Abs>},
      {"tosa.bitwise_not", unary<UnaryKind::Not>},
      {"tosa.cast", cast},
      {"tosa.ceil", unary<UnaryKind::Ceil>},
      {"tosa.clamp", clamp},
      {"tosa.clz", countLeadingZeros},
      {"tosa.cos", unary<UnaryKind::Cos>},
      {"tosa.erf", unary<UnaryKind::Erf>},
      {"tosa.exp", unary<UnaryKind::Exp>},
      {"tosa.floor", unary<UnaryKind::Floor>},
      {"tosa.identity", identity},
      {"tosa.log", unary<UnaryKind::Log>},
      {"tosa.logical_not", unary<UnaryKind::Not>},
      {"tosa.negate", negate},
      {"tosa.reciprocal", unary<UnaryKind::Reciprocal>},
      {"tosa.rsqrt", reciprocalRoot},
      {"tosa.sigmoid", unary<UnaryKind::Sigmoid>},
      {"tosa.sin", unary<UnaryKind::Sin>},
      {"tosa.tanh", unary<UnaryKind::Tanh>},
  };
  return kRows;
}

}  // namespace kiln::dialects::tosa
