// Values of type !tosa.shape: vectors of i64, which the graph follows where they depend on symbols.
#include "compiler_core/frontend/dialects/tosa/rows.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

namespace kiln::dialects::tosa {
namespace {

using ir::BinaryKind;

Result<Values> constShape(OperationContext& op) {
  return one(op.literal(op.as<mlir::tosa::ConstShapeOp>().getValues()));
}

Result<Values> dim(OperationContext& op) {
  const std::int64_t axis = op.as<mlir::tosa::DimOp>().getAxis();
  if (axis < 0 || axis >= rankOf(op.operand(0))) return invalid("there is no such dimension");
  return Values{op.shapeValue({dimsOf(op.operand(0))[static_cast<std::size_t>(axis)]})};
}

Result<Values> concat(OperationContext& op) {
  return one(op.concat(op.operands(), 0));
}

template <BinaryKind kind>
Result<Values> binary(OperationContext& op) {
  return one(op.binary(kind, op.operand(0), op.operand(1)));
}

}  // namespace

std::span<const Row> shapeValueRows() {
  static constexpr Row kRows[] = {
      {"tosa.add_shape", binary<BinaryKind::Add>},
      {"tosa.concat_shape", concat},
      {"tosa.const_shape", constShape},
      {"tosa.dim", dim},
      {"tosa.max_shape", binary<BinaryKind::Max>},
      {"tosa.min_shape", binary<BinaryKind::Min>},
      {"tosa.mul_shape", binary<BinaryKind::Mul>},
      {"tosa.sub_shape", binary<BinaryKind::Sub>},
  };
  return kRows;
}

}  // namespace kiln::dialects::tosa
