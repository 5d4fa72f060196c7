// Functions of math, of tensors and of the scalars in bodies alike. Those of several steps are calculated in
// f32 where the type is narrower, and rounded once.
#include <limits>
#include <numbers>

#include "compiler_core/frontend/dialects/linalg/rows.h"
#include "compiler_core/frontend/dialects/operations/elementwise.h"

namespace kiln::dialects::linalg {
namespace {

using ir::BinaryKind;
using ir::UnaryKind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <UnaryKind kind>
Result<Values> unary(OperationContext& op) {
  return one(op.term(0).unary(kind));
}

// Operand `index` in the type that the function is calculated in.
Term wide(OperationContext& op, std::size_t index) {
  const mlir::Type element = elementOf(op.operand(index));
  return op.term(index).cast(element.getIntOrFloatBitWidth() < 32 ? op.f32() : element);
}
Result<Values> narrowed(OperationContext& op, const Term& value) {
  return one(value.cast(op.resultElement()));
}

Result<Values> reciprocalRoot(OperationContext& op) {
  return narrowed(op, wide(op, 0).sqrt().unary(UnaryKind::Reciprocal));
}

Result<Values> exp2(OperationContext& op) {
  const Term x = wide(op, 0);
  return narrowed(op, x.number(2).binary(BinaryKind::Pow, x));
}

Result<Values> logarithm(OperationContext& op, double ofBase) {
  const Term x = wide(op, 0);
  return narrowed(op, x.unary(UnaryKind::Log) * (1 / ofBase));
}
Result<Values> log2(OperationContext& op) {
  return logarithm(op, std::numbers::ln2);
}
Result<Values> log10(OperationContext& op) {
  return logarithm(op, std::numbers::ln10);
}

// In f64, since little is left of 1 where the argument is large.
Result<Values> erfc(OperationContext& op) {
  const Term x = op.term(0).cast(mlir::Float64Type::get(op.context()));
  return narrowed(op, 1.0 - x.unary(UnaryKind::Erf));
}

Result<Values> round(OperationContext& op) {
  return one(roundAwayFromZero(op, op.term(0)));
}

Result<Values> truncate(OperationContext& op) {
  return one(copySign(op, op.term(0).abs().floor(), op.term(0)));
}

Result<Values> copysign(OperationContext& op) {
  return one(copySign(op, op.term(0), op.term(1)));
}

// Rounded twice: the graph has no fused product.
Result<Values> multiplyAdd(OperationContext& op) {
  return narrowed(op, wide(op, 0) * wide(op, 1) + wide(op, 2));
}

Result<Values> power(OperationContext& op) {
  return narrowed(op, wide(op, 0).binary(BinaryKind::Pow, wide(op, 1)));
}
Result<Values> wholePower(OperationContext& op) {
  const Term base = wide(op, 0);
  if (!base.ok()) return fail(base.value().error());
  return narrowed(op, base.binary(BinaryKind::Pow, op.term(1).cast(elementOf(*base.value()))));
}
Result<Values> integerPower(OperationContext& op) {
  return one(op.term(0).binary(BinaryKind::Pow, op.term(1)));
}

Result<Values> isNotNumber(OperationContext& op) {
  return one(isNan(op.term(0)));
}
Result<Values> isInfinite(OperationContext& op) {
  return one(op.term(0).abs() == kInfinity);
}
Result<Values> isFinite(OperationContext& op) {
  return one(op.term(0).abs() < kInfinity);
}

Result<Values> clamp(OperationContext& op) {
  return one(min(max(op.term(0), op.term(1)), op.term(2)));
}

Result<Values> zerosInFront(OperationContext& op) {
  return one(leadingZeros(op, op.term(0)));
}
Result<Values> ones(OperationContext& op) {
  return one(setBits(op, op.term(0)));
}
// The ones below the lowest bit that is set.
Result<Values> zerosBehind(OperationContext& op) {
  const Term x = op.term(0);
  return one(setBits(op, !x & (x - 1.0)));
}

}  // namespace

std::span<const Row> mathRows() {
  static constexpr Row kRows[] = {
      {"math.absf", unary<UnaryKind::Abs>},
      {"math.absi", unary<UnaryKind::Abs>},
      {"math.acos", unary<UnaryKind::Acos>},
      {"math.acosh", unary<UnaryKind::Acosh>},
      {"math.asin", unary<UnaryKind::Asin>},
      {"math.asinh", unary<UnaryKind::Asinh>},
      {"math.atan", unary<UnaryKind::Atan>},
      {"math.atanh", unary<UnaryKind::Atanh>},
      {"math.ceil", unary<UnaryKind::Ceil>},
      {"math.clampf", clamp},
      {"math.copysign", copysign},
      {"math.cos", unary<UnaryKind::Cos>},
      {"math.cosh", unary<UnaryKind::Cosh>},
      {"math.ctlz", zerosInFront},
      {"math.ctpop", ones},
      {"math.cttz", zerosBehind},
      {"math.erf", unary<UnaryKind::Erf>},
      {"math.erfc", erfc},
      {"math.exp", unary<UnaryKind::Exp>},
      {"math.exp2", exp2},
      {"math.expm1", unary<UnaryKind::Expm1>},
      {"math.floor", unary<UnaryKind::Floor>},
      {"math.fma", multiplyAdd},
      {"math.fpowi", wholePower},
      {"math.ipowi", integerPower},
      {"math.isfinite", isFinite},
      {"math.isinf", isInfinite},
      {"math.isnan", isNotNumber},
      {"math.log", unary<UnaryKind::Log>},
      {"math.log10", log10},
      {"math.log1p", unary<UnaryKind::Log1p>},
      {"math.log2", log2},
      {"math.powf", power},
      {"math.round", round},
      {"math.roundeven", unary<UnaryKind::Round>},
      {"math.rsqrt", reciprocalRoot},
      {"math.sin", unary<UnaryKind::Sin>},
      {"math.sinh", unary<UnaryKind::Sinh>},
      {"math.sqrt", unary<UnaryKind::Sqrt>},
      {"math.tan", unary<UnaryKind::Tan>},
      {"math.tanh", unary<UnaryKind::Tanh>},
      {"math.trunc", truncate},
  };
  return kRows;
}

}  // namespace kiln::dialects::linalg
