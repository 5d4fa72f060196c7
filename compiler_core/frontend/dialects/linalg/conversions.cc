// Conversions of arith. Integers have no sign there: operations have.
#include "compiler_core/frontend/dialects/linalg/rows.h"
#include "compiler_core/frontend/dialects/operations/elementwise.h"

namespace kiln::dialects::linalg {
namespace {

bool isBit(Value value) {
  return elementOf(value).isInteger(1);
}

Result<Values> plain(OperationContext& op) {
  return one(op.cast(op.operand(0), op.resultElement()));
}

// True of i1 is -1 as a number with a sign.
Result<Values> withSign(OperationContext& op) {
  const Term value = op.term(0).cast(op.resultElement());
  return one(isBit(op.operand(0)) ? -value : value);
}

Result<Values> withoutSign(OperationContext& op) {
  if (isBit(op.operand(0))) return plain(op);
  return one(bitsOf(op, op.term(0)).cast(op.resultElement()));
}

// The lowest bits; cast takes i1 for what is not 0.
Result<Values> lowBits(OperationContext& op) {
  const mlir::Type to = op.resultElement();
  if (!to.isInteger(1)) return plain(op);
  return one((op.term(0) & 1.0).cast(to));
}

Result<Values> toUnsigned(OperationContext& op) {
  const mlir::Type to = op.resultElement();
  if (to.getIntOrFloatBitWidth() < 8)
    return unserved("the conversion is not served to integers below a byte");
  return one(bitcastTo(op, op.term(0).cast(op.unsignedOf(to)), to));
}

// Index is i64 here.
Result<Values> indexCast(OperationContext& op) {
  const bool isWider =
      elementOf(op.operand(0)).getIntOrFloatBitWidth() < op.resultElement().getIntOrFloatBitWidth();
  return isWider ? withSign(op) : lowBits(op);
}
Result<Values> unsignedIndexCast(OperationContext& op) {
  const bool isWider =
      elementOf(op.operand(0)).getIntOrFloatBitWidth() < op.resultElement().getIntOrFloatBitWidth();
  return isWider ? withoutSign(op) : lowBits(op);
}

Result<Values> bitcast(OperationContext& op) {
  return one(op.bitcast(op.operand(0), op.resultElement()));
}

}  // namespace

std::span<const Row> conversionRows() {
  static constexpr Row kRows[] = {
      {"arith.bitcast", bitcast},      {"arith.extf", plain},
      {"arith.extsi", withSign},       {"arith.extui", withoutSign},
      {"arith.fptosi", plain},         {"arith.fptoui", toUnsigned},
      {"arith.index_cast", indexCast}, {"arith.index_castui", unsignedIndexCast},
      {"arith.sitofp", withSign},      {"arith.truncf", plain},
      {"arith.trunci", lowBits},       {"arith.uitofp", withoutSign},
      {"tensor.bitcast", bitcast},
  };
  return kRows;
}

}  // namespace kiln::dialects::linalg
