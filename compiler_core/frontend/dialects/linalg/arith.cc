// Arithmetic of arith, of tensors and of the scalars in bodies alike. Integers have no sign there: operations
// have.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "compiler_core/frontend/dialects/linalg/rows.h"
#include "compiler_core/frontend/dialects/operations/elementwise.h"

namespace kiln::dialects::linalg {
namespace {

using ir::BinaryKind;
using ir::CompareKind;
using mlir::arith::CmpFPredicate;
using mlir::arith::CmpIPredicate;

bool isBit(Value value) {
  return elementOf(value).isInteger(1);
}

// Of i1, which wraps too.
std::optional<BinaryKind> ofBits(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::Add:
    case BinaryKind::Sub:
    case BinaryKind::Xor:
      return BinaryKind::Xor;
    case BinaryKind::Mul:
    case BinaryKind::And:
      return BinaryKind::And;
    case BinaryKind::Or:
      return BinaryKind::Or;
    default:
      return std::nullopt;
  }
}

template <BinaryKind kind>
Result<Values> binary(OperationContext& op) {
  if (!isBit(op.operand(0))) return one(op.term(0).binary(kind, op.term(1)));
  const std::optional<BinaryKind> bits = ofBits(kind);
  if (!bits) return unserved("the operation is not served of i1");
  return one(op.term(0).binary(*bits, op.term(1)));
}

// Of i1 the larger is true where numbers have no sign.
template <BinaryKind kind>
Result<Values> withoutSign(OperationContext& op) {
  if (!isBit(op.operand(0))) return one(unsignedBinary(op, kind, op.term(0), op.term(1)));
  if (kind == BinaryKind::Max) return one(op.term(0) | op.term(1));
  if (kind == BinaryKind::Min) return one(op.term(0) & op.term(1));
  return unserved("the operation is not served of i1");
}

template <BinaryKind kind>
Result<Values> numberFirst(OperationContext& op) {
  return one(ignoringNan(kind, op.term(0), op.term(1)));
}

Result<Values> negate(OperationContext& op) {
  return one(-op.term(0));
}

// The quotient towards minus infinity is one less than the truncated one where the remainder is of the other
// sign than the divisor.
Result<Values> floorDivide(OperationContext& op) {
  if (isBit(op.operand(0))) return unserved("the operation is not served of i1");
  const Term a = op.term(0), b = op.term(1), rest = a % b;
  return one((a - rest) / b);
}

template <bool isSigned>
Result<Values> ceilDivide(OperationContext& op) {
  if (isBit(op.operand(0))) return unserved("the operation is not served of i1");
  Term a = op.term(0), b = op.term(1);
  const mlir::Type element = elementOf(op.operand(0));
  if (!isSigned) {
    a = bitsOf(op, a);
    b = bitsOf(op, b);
  }
  const Term rest = a % b, isWhole = rest == 0.0;
  const Term below = (a - rest) / b;
  return one(bitcastTo(op, isWhole.select(below, below + 1.0), element));
}

Result<Values> compareIntegers(OperationContext& op) {
  auto compare = op.as<mlir::arith::CmpIOp>();
  Term a = op.term(0), b = op.term(1);
  const CmpIPredicate predicate = compare.getPredicate();
  const bool isUnsigned = predicate == CmpIPredicate::ult || predicate == CmpIPredicate::ule ||
                          predicate == CmpIPredicate::ugt || predicate == CmpIPredicate::uge;
  if (isUnsigned && !isBit(op.operand(0))) {
    a = bitsOf(op, a);
    b = bitsOf(op, b);
  }
  // As a number with a sign, true of i1 is -1.
  if (!isUnsigned && isBit(op.operand(0))) std::swap(a, b);
  switch (predicate) {
    case CmpIPredicate::eq:
      return one(a == b);
    case CmpIPredicate::ne:
      return one(!(a == b));
    case CmpIPredicate::slt:
    case CmpIPredicate::ult:
      return one(a < b);
    case CmpIPredicate::sle:
    case CmpIPredicate::ule:
      return one(a <= b);
    case CmpIPredicate::sgt:
    case CmpIPredicate::ugt:
      return one(a > b);
    case CmpIPredicate::sge:
    case CmpIPredicate::uge:
      return one(a >= b);
  }
  return invalid("no such comparison");
}

// What is called unordered is true of NaN: it is the opposite of the opposite.
Result<Values> compareFloats(OperationContext& op) {
  auto compare = op.as<mlir::arith::CmpFOp>();
  const Term a = op.term(0), b = op.term(1);
  switch (compare.getPredicate()) {
    case CmpFPredicate::OEQ:
      return one(a == b);
    case CmpFPredicate::OGT:
      return one(a > b);
    case CmpFPredicate::OGE:
      return one(a >= b);
    case CmpFPredicate::OLT:
      return one(a < b);
    case CmpFPredicate::OLE:
      return one(a <= b);
    case CmpFPredicate::ONE:
      return one((a < b) | (a > b));
    case CmpFPredicate::ORD:
      return one(!(isNan(a) | isNan(b)));
    case CmpFPredicate::UEQ:
      return one(!((a < b) | (a > b)));
    case CmpFPredicate::UGT:
      return one(!(a <= b));
    case CmpFPredicate::UGE:
      return one(!(a < b));
    case CmpFPredicate::ULT:
      return one(!(a >= b));
    case CmpFPredicate::ULE:
      return one(!(a > b));
    case CmpFPredicate::UNE:
      return one(!(a == b));
    case CmpFPredicate::UNO:
      return one(isNan(a) | isNan(b));
    case CmpFPredicate::AlwaysFalse:
    case CmpFPredicate::AlwaysTrue:
      return unserved("a comparison that compares nothing is not served");
  }
  return invalid("no such comparison");
}

Result<Values> select(OperationContext& op) {
  return one(op.term(0).select(op.term(1), op.term(2)));
}

Result<Values> constant(OperationContext& op) {
  const mlir::Attribute value = op.as<mlir::arith::ConstantOp>().getValue();
  if (const auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value)) return one(op.literal(elements));
  const mlir::Type element = op.resultElement();
  if (const auto number = llvm::dyn_cast<mlir::FloatAttr>(value))
    return Values{op.scalar(element, number.getValueAsDouble())};
  const auto number = llvm::dyn_cast<mlir::IntegerAttr>(value);
  if (!number || number.getValue().getBitWidth() > 64)
    return unserved("a constant of this kind is not served");
  return Values{op.integer(element, number.getValue().getSExtValue())};
}

}  // namespace

std::span<const Row> arithRows() {
  static constexpr Row kRows[] = {
      {"arith.addf", binary<BinaryKind::Add>},
      {"arith.addi", binary<BinaryKind::Add>},
      {"arith.andi", binary<BinaryKind::And>},
      {"arith.ceildivsi", ceilDivide<true>},
      {"arith.ceildivui", ceilDivide<false>},
      {"arith.cmpf", compareFloats},
      {"arith.cmpi", compareIntegers},
      {"arith.constant", constant},
      {"arith.divf", binary<BinaryKind::Div>},
      {"arith.divsi", binary<BinaryKind::Div>},
      {"arith.divui", withoutSign<BinaryKind::Div>},
      {"arith.floordivsi", floorDivide},
      {"arith.maximumf", binary<BinaryKind::Max>},
      {"arith.maxnumf", numberFirst<BinaryKind::Max>},
      {"arith.maxsi", binary<BinaryKind::Max>},
      {"arith.maxui", withoutSign<BinaryKind::Max>},
      {"arith.minimumf", binary<BinaryKind::Min>},
      {"arith.minnumf", numberFirst<BinaryKind::Min>},
      {"arith.minsi", binary<BinaryKind::Min>},
      {"arith.minui", withoutSign<BinaryKind::Min>},
      {"arith.mulf", binary<BinaryKind::Mul>},
      {"arith.muli", binary<BinaryKind::Mul>},
      {"arith.negf", negate},
      {"arith.ori", binary<BinaryKind::Or>},
      {"arith.remf", binary<BinaryKind::Rem>},
      {"arith.remsi", binary<BinaryKind::Rem>},
      {"arith.remui", withoutSign<BinaryKind::Rem>},
      {"arith.select", select},
      {"arith.shli", binary<BinaryKind::Shl>},
      {"arith.shrsi", binary<BinaryKind::Shr>},
      {"arith.shrui", withoutSign<BinaryKind::Shr>},
      {"arith.subf", binary<BinaryKind::Sub>},
      {"arith.subi", binary<BinaryKind::Sub>},
      {"arith.xori", binary<BinaryKind::Xor>},
  };
  return kRows;
}

}  // namespace kiln::dialects::linalg
