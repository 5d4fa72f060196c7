// Reductions along one axis, which stays as 1, and the position of the largest element.
#include <limits>

#include "compiler_core/frontend/dialects/operations/elementwise.h"
#include "compiler_core/frontend/dialects/tosa/rows.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

namespace kiln::dialects::tosa {
namespace {

using ir::ReduceKind;
using mlir::tosa::NanPropagationMode;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sums and products of f16 and bf16 are calculated in f32 and rounded once.
template <class Op, ReduceKind kind>
Result<Values> accumulate(OperationContext& op) {
  const mlir::Type element = op.resultElement();
  const bool isNarrow = isFloat(op.operand(0)) && element.getIntOrFloatBitWidth() < 32;
  const Term wide = isNarrow ? op.term(0).cast(op.f32()) : op.term(0);
  return one(wide.reduce(kind, {op.as<Op>().getAxis()}, /*keep=*/true).cast(element));
}

// NaN wins, or is as if it were not there: where there is nothing else, the result is NaN.
template <class Op, ReduceKind kind>
Result<Values> extremum(OperationContext& op) {
  auto reduction = op.as<Op>();
  const Dims axis{reduction.getAxis()};
  if (!isFloat(op.operand(0)) || reduction.getNanMode() != NanPropagationMode::IGNORE)
    return one(op.reduce(kind, op.operand(0), axis, /*keep=*/true));
  const Term value = op.term(0), nan = isNan(value);
  const Term numbers = nan.select(value.number(kind == ReduceKind::Max ? -kInfinity : kInfinity), value);
  const Term isAll = nan.cast(op.i32()).reduce(ReduceKind::Min, axis, /*keep=*/true) > 0.0;
  const Term nothing = value.number(std::numeric_limits<double>::quiet_NaN());
  return one(isAll.select(nothing, numbers.reduce(kind, axis, /*keep=*/true)));
}

template <class Op, ReduceKind kind>
Result<Values> ofBooleans(OperationContext& op) {
  const Term counted = op.term(0).cast(op.i32());
  return one(counted.reduce(kind, {op.as<Op>().getAxis()}, /*keep=*/true).cast(op.i1()));
}

Result<Values> argMax(OperationContext& op) {
  auto argMax = op.as<mlir::tosa::ArgMaxOp>();
  Term value = op.term(0);
  if (isFloat(op.operand(0)) && argMax.getNanMode() == NanPropagationMode::IGNORE)
    value = isNan(value).select(value.number(-kInfinity), value);
  if (!value.ok()) return fail(value.value().error());
  KILN_ASSIGN(const Value index, op.argReduce(ReduceKind::Max, *value.value(), argMax.getAxis(), false));
  return one(op.cast(index, op.resultElement()));
}

}  // namespace

std::span<const Row> reductionRows() {
  using namespace mlir::tosa;
  static constexpr Row kRows[] = {
      {"tosa.argmax", argMax},
      {"tosa.reduce_all", ofBooleans<ReduceAllOp, ReduceKind::Min>},
      {"tosa.reduce_any", ofBooleans<ReduceAnyOp, ReduceKind::Max>},
      {"tosa.reduce_max", extremum<ReduceMaxOp, ReduceKind::Max>},
      {"tosa.reduce_min", extremum<ReduceMinOp, ReduceKind::Min>},
      {"tosa.reduce_product", accumulate<ReduceProductOp, ReduceKind::Prod>},
      {"tosa.reduce_sum", accumulate<ReduceSumOp, ReduceKind::Sum>},
  };
  return kRows;
}

}  // namespace kiln::dialects::tosa
