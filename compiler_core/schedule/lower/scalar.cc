#include <cmath>
#include <limits>

#include "compiler_core/schedule/lower/lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace kiln::schedule {

using namespace mlir;

Value numberOf(OpBuilder& b, Location loc, Type element, double value) {
  if (auto type = dyn_cast<FloatType>(element))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  const unsigned width = element.getIntOrFloatBitWidth();
  APInt integer(width, 0);
  if (std::isinf(value))
    integer = value < 0 ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width);
  else
    integer = APInt(width, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)), /*isSigned=*/true);
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(element, integer));
}

namespace {

// Truncation towards zero that saturates, with 0 for NaN. The conversion itself is undefined outside its
// range; select keeps such a lane from being chosen.
Value floatToInt(OpBuilder& b, Location loc, Value x, IntegerType to) {
  const double limit = std::ldexp(1.0, to.getWidth() - 1);
  Value low = numberOf(b, loc, x.getType(), -limit), high = numberOf(b, loc, x.getType(), limit);
  Value result = arith::FPToSIOp::create(b, loc, to, x);
  Value over = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, x, high);
  Value under = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, low);
  Value nan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  const double infinity = std::numeric_limits<double>::infinity();
  result = arith::SelectOp::create(b, loc, over, numberOf(b, loc, to, infinity), result);
  result = arith::SelectOp::create(b, loc, under, numberOf(b, loc, to, -infinity), result);
  return arith::SelectOp::create(b, loc, nan, numberOf(b, loc, to, 0), result);
}

// Division by zero gives 0, and the most negative number by -1 wraps.
Value divideInt(OpBuilder& b, Location loc, Value x, Value y) {
  Value zero = numberOf(b, loc, y.getType(), 0), one = numberOf(b, loc, y.getType(), 1);
  Value minusOne = numberOf(b, loc, y.getType(), -1);
  Value byZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, y, zero);
  Value byMinusOne = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, y, minusOne);
  Value special = arith::OrIOp::create(b, loc, byZero, byMinusOne);
  Value quotient = arith::DivSIOp::create(b, loc, x, arith::SelectOp::create(b, loc, special, one, y));
  Value negated = arith::SubIOp::create(b, loc, zero, x);
  quotient = arith::SelectOp::create(b, loc, byMinusOne, negated, quotient);
  return arith::SelectOp::create(b, loc, byZero, zero, quotient);
}

Value fromBool(OpBuilder& b, Location loc, Value bit) {
  return arith::ExtUIOp::create(b, loc, b.getI8Type(), bit);
}
Value toBool(OpBuilder& b, Location loc, Value byte) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, byte, numberOf(b, loc, byte.getType(), 0));
}

}  // namespace

Value unaryScalar(OpBuilder& b, Location loc, ir::UnaryKind kind, Value x) {
  const Type type = x.getType();
  const bool isFloat = isa<FloatType>(type);
  auto number = [&](double value) { return numberOf(b, loc, type, value); };
  switch (kind) {
    case ir::UnaryKind::Neg:
      if (isFloat) return arith::NegFOp::create(b, loc, x);
      return arith::SubIOp::create(b, loc, number(0), x);
    case ir::UnaryKind::Abs:
      if (isFloat) return math::AbsFOp::create(b, loc, x);
      return arith::MaxSIOp::create(b, loc, x, arith::SubIOp::create(b, loc, number(0), x));
    case ir::UnaryKind::Exp:
      return math::ExpOp::create(b, loc, x);
    case ir::UnaryKind::Log:
      return math::LogOp::create(b, loc, x);
    case ir::UnaryKind::Sqrt:
      return math::SqrtOp::create(b, loc, x);
    case ir::UnaryKind::Reciprocal:
      return arith::DivFOp::create(b, loc, number(1), x);
    case ir::UnaryKind::Tanh:
      return math::TanhOp::create(b, loc, x);
    case ir::UnaryKind::Erf:
      return math::ErfOp::create(b, loc, x);
    case ir::UnaryKind::Sigmoid: {
      Value e = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, x));
      return arith::DivFOp::create(b, loc, number(1), arith::AddFOp::create(b, loc, number(1), e));
    }
    case ir::UnaryKind::Relu: {
      if (!isFloat) return arith::MaxSIOp::create(b, loc, x, number(0));
      // NaN stays; one instruction on x86.
      Value negative = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, number(0), x);
      return arith::SelectOp::create(b, loc, negative, number(0), x);
    }
    case ir::UnaryKind::Ceil:
      return math::CeilOp::create(b, loc, x);
    case ir::UnaryKind::Floor:
      return math::FloorOp::create(b, loc, x);
    case ir::UnaryKind::Round:
      return math::RoundEvenOp::create(b, loc, x);
    case ir::UnaryKind::Sin:
      return math::SinOp::create(b, loc, x);
    case ir::UnaryKind::Cos:
      return math::CosOp::create(b, loc, x);
    case ir::UnaryKind::Not:
      return arith::XOrIOp::create(b, loc, x, number(1));
    default:
      return {};
  }
  llvm_unreachable("every kind is listed");
}

Value binaryScalar(OpBuilder& b, Location loc, ir::BinaryKind kind, Value x, Value y) {
  const bool isFloat = isa<FloatType>(x.getType());
  auto pick = [&]<class F, class I>(std::type_identity<F>, std::type_identity<I>) -> Value {
    if (isFloat) return F::create(b, loc, x, y);
    return I::create(b, loc, x, y);
  };
  switch (kind) {
    case ir::BinaryKind::Add:
      return pick(std::type_identity<arith::AddFOp>(), std::type_identity<arith::AddIOp>());
    case ir::BinaryKind::Sub:
      return pick(std::type_identity<arith::SubFOp>(), std::type_identity<arith::SubIOp>());
    case ir::BinaryKind::Mul:
      return pick(std::type_identity<arith::MulFOp>(), std::type_identity<arith::MulIOp>());
    case ir::BinaryKind::Max:
      return pick(std::type_identity<arith::MaximumFOp>(), std::type_identity<arith::MaxSIOp>());
    case ir::BinaryKind::Min:
      return pick(std::type_identity<arith::MinimumFOp>(), std::type_identity<arith::MinSIOp>());
    case ir::BinaryKind::Div:
      if (isFloat) return arith::DivFOp::create(b, loc, x, y);
      return divideInt(b, loc, x, y);
    case ir::BinaryKind::Pow:
      return math::PowFOp::create(b, loc, x, y);
    case ir::BinaryKind::And:
      return arith::AndIOp::create(b, loc, x, y);
    case ir::BinaryKind::Or:
      return arith::OrIOp::create(b, loc, x, y);
    case ir::BinaryKind::Xor:
      return arith::XOrIOp::create(b, loc, x, y);
    default:
      return {};
  }
  llvm_unreachable("every kind is listed");
}

Value compareScalar(OpBuilder& b, Location loc, ir::CompareKind kind, Value x, Value y) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr std::pair<F, I> kPredicates[] = {
      {F::OEQ, I::eq}, {F::OLT, I::slt}, {F::OLE, I::sle}, {F::OGT, I::sgt}, {F::OGE, I::sge}};
  const auto [real, integer] = kPredicates[static_cast<unsigned>(kind)];
  Value bit = isa<FloatType>(x.getType()) ? Value(arith::CmpFOp::create(b, loc, real, x, y))
                                          : Value(arith::CmpIOp::create(b, loc, integer, x, y));
  return fromBool(b, loc, bit);
}

Value castScalar(OpBuilder& b, Location loc, Value x, Type from, Type to) {
  if (from == to) return x;
  if (to.isInteger(1)) {
    if (!isa<FloatType>(from)) return fromBool(b, loc, toBool(b, loc, x));
    return fromBool(b, loc,
                    arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, numberOf(b, loc, from, 0)));
  }
  const bool toFloat = isa<FloatType>(to), fromFloat = isa<FloatType>(from);
  const unsigned width = from.getIntOrFloatBitWidth();
  if (from.isInteger(1)) {
    if (toFloat) return arith::UIToFPOp::create(b, loc, to, x);
    return arith::ExtUIOp::create(b, loc, to, x);
  }
  if (fromFloat && toFloat) {
    if (width < to.getIntOrFloatBitWidth()) return arith::ExtFOp::create(b, loc, to, x);
    return arith::TruncFOp::create(b, loc, to, x);
  }
  if (fromFloat) return floatToInt(b, loc, x, cast<IntegerType>(to));
  if (toFloat) return arith::SIToFPOp::create(b, loc, to, x);
  if (width < to.getIntOrFloatBitWidth()) return arith::ExtSIOp::create(b, loc, to, x);
  return arith::TruncIOp::create(b, loc, to, x);
}

}  // namespace kiln::schedule
