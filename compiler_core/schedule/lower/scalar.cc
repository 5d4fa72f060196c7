#include "compiler_core/schedule/lower/scalar.h"

#include <cmath>
#include <limits>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace kiln::schedule {

using namespace mlir;

Type storageOf(Type element) {
  if (element.isF32() || element.isF64()) return element;
  const unsigned width = element.getIntOrFloatBitWidth();
  return IntegerType::get(element.getContext(), std::max(8u, width));
}

Value unpack(OpBuilder& b, Location loc, Value stored, Type element) {
  return isSmallFloat(element) ? decodeFloat(b, loc, stored, element) : stored;
}
Value pack(OpBuilder& b, Location loc, Value value, Type element) {
  return isSmallFloat(element) ? encodeFloat(b, loc, value, element, {.overflow = true}) : value;
}

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

bool isUnsigned(Type element) {
  return element.isUnsignedInteger() || element.isInteger(1);
}

Value fromBool(OpBuilder& b, Location loc, Value bit) {
  return arith::ExtUIOp::create(b, loc, b.getI8Type(), bit);
}
Value isNonZero(OpBuilder& b, Location loc, Value x) {
  Value zero = numberOf(b, loc, x.getType(), 0);
  if (isa<FloatType>(x.getType())) return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, zero);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, zero);
}

Value signOf(OpBuilder& b, Location loc, Value x, Type element) {
  auto number = [&](double value) { return numberOf(b, loc, x.getType(), value); };
  if (!isa<FloatType>(x.getType())) {
    if (isUnsigned(element)) return arith::MinUIOp::create(b, loc, x, number(1));
    return arith::MaxSIOp::create(b, loc, arith::MinSIOp::create(b, loc, x, number(1)), number(-1));
  }
  Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, number(0));
  Value below = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, number(0));
  Value rest = arith::SelectOp::create(b, loc, below, number(-1), x);
  return arith::SelectOp::create(b, loc, above, number(1), rest);
}

}  // namespace

Value unaryScalar(OpBuilder& b, Location loc, ir::UnaryKind kind, Value x, Type element) {
  const Type type = x.getType();
  const bool isFloat = isa<FloatType>(type);
  auto number = [&](double value) { return numberOf(b, loc, type, value); };
  switch (kind) {
    case ir::UnaryKind::Neg:
      if (isFloat) return arith::NegFOp::create(b, loc, x);
      return arith::SubIOp::create(b, loc, number(0), x);
    case ir::UnaryKind::Abs:
      if (isFloat) return math::AbsFOp::create(b, loc, x);
      if (isUnsigned(element)) return x;
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
      if (isUnsigned(element)) return x;
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
      return arith::XOrIOp::create(b, loc, x, number(element.isInteger(1) ? 1 : -1));
    case ir::UnaryKind::Sign:
      return signOf(b, loc, x, element);
    case ir::UnaryKind::Tan:
      return math::TanOp::create(b, loc, x);
    case ir::UnaryKind::Asin:
      return math::AsinOp::create(b, loc, x);
    case ir::UnaryKind::Acos:
      return math::AcosOp::create(b, loc, x);
    case ir::UnaryKind::Atan:
      return math::AtanOp::create(b, loc, x);
    case ir::UnaryKind::Sinh:
      return math::SinhOp::create(b, loc, x);
    case ir::UnaryKind::Cosh:
      return math::CoshOp::create(b, loc, x);
    case ir::UnaryKind::Asinh:
      return math::AsinhOp::create(b, loc, x);
    case ir::UnaryKind::Acosh:
      return math::AcoshOp::create(b, loc, x);
    case ir::UnaryKind::Atanh:
      return math::AtanhOp::create(b, loc, x);
    case ir::UnaryKind::Log1p:
      return math::Log1pOp::create(b, loc, x);
    case ir::UnaryKind::Expm1:
      return math::ExpM1Op::create(b, loc, x);
  }
  llvm_unreachable("every kind is listed");
}

Value binaryScalar(OpBuilder& b, Location loc, ir::BinaryKind kind, Value x, Value y) {
  return binaryScalar(b, loc, kind, x, y, x.getType());
}

Value binaryScalar(OpBuilder& b, Location loc, ir::BinaryKind kind, Value x, Value y, Type element) {
  const bool isFloat = isa<FloatType>(x.getType()), isSigned = !isUnsigned(element);
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
      if (!isSigned) return arith::MaxUIOp::create(b, loc, x, y);
      return pick(std::type_identity<arith::MaximumFOp>(), std::type_identity<arith::MaxSIOp>());
    case ir::BinaryKind::Min:
      if (!isSigned) return arith::MinUIOp::create(b, loc, x, y);
      return pick(std::type_identity<arith::MinimumFOp>(), std::type_identity<arith::MinSIOp>());
    case ir::BinaryKind::Div:
      if (isFloat) return arith::DivFOp::create(b, loc, x, y);
      return divideInt(b, loc, x, y, isSigned);
    case ir::BinaryKind::Rem:
      if (isFloat) return arith::RemFOp::create(b, loc, x, y);
      return remainderInt(b, loc, x, y, isSigned, /*floors=*/false);
    case ir::BinaryKind::Mod: {
      if (!isFloat) return remainderInt(b, loc, x, y, isSigned, /*floors=*/true);
      Value zero = numberOf(b, loc, x.getType(), 0), rest = arith::RemFOp::create(b, loc, x, y);
      auto below = [&](Value value) {
        return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, value, zero).getResult();
      };
      Value opposite = arith::XOrIOp::create(b, loc, below(rest), below(y));
      Value wrong = arith::AndIOp::create(b, loc, opposite, isNonZero(b, loc, rest));
      return arith::SelectOp::create(b, loc, wrong, arith::AddFOp::create(b, loc, rest, y), rest);
    }
    case ir::BinaryKind::Pow:
      if (isFloat) return math::PowFOp::create(b, loc, x, y);
      return powerInt(b, loc, x, y, isSigned);
    case ir::BinaryKind::And:
      return arith::AndIOp::create(b, loc, x, y);
    case ir::BinaryKind::Or:
      return arith::OrIOp::create(b, loc, x, y);
    case ir::BinaryKind::Xor:
      return arith::XOrIOp::create(b, loc, x, y);
    case ir::BinaryKind::Shl:
      return shiftInt(b, loc, x, y, isSigned, /*left=*/true);
    case ir::BinaryKind::Shr:
      return shiftInt(b, loc, x, y, isSigned, /*left=*/false);
  }
  llvm_unreachable("every kind is listed");
}

Value compareScalar(OpBuilder& b, Location loc, ir::CompareKind kind, Value x, Value y, Type element) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr std::tuple<F, I, I> kPredicates[] = {{F::OEQ, I::eq, I::eq},
                                                        {F::OLT, I::slt, I::ult},
                                                        {F::OLE, I::sle, I::ule},
                                                        {F::OGT, I::sgt, I::ugt},
                                                        {F::OGE, I::sge, I::uge}};
  const auto [real, whole, natural] = kPredicates[static_cast<unsigned>(kind)];
  Value bit = isa<FloatType>(x.getType())
                  ? Value(arith::CmpFOp::create(b, loc, real, x, y))
                  : Value(arith::CmpIOp::create(b, loc, isUnsigned(element) ? natural : whole, x, y));
  return fromBool(b, loc, bit);
}

namespace {

// An integer of `storage` type that holds the low `width` bits of `x` and their sign.
Value narrowInt(OpBuilder& b, Location loc, Value x, Type storage, unsigned width, bool isSigned) {
  const unsigned from = x.getType().getIntOrFloatBitWidth(), to = storage.getIntOrFloatBitWidth();
  if (from > to) x = arith::TruncIOp::create(b, loc, storage, x);
  if (width >= to) return x;
  if (!isSigned) return arith::AndIOp::create(b, loc, x, numberOf(b, loc, storage, (1 << width) - 1));
  Value by = numberOf(b, loc, storage, to - width);
  return arith::ShRSIOp::create(b, loc, arith::ShLIOp::create(b, loc, x, by), by);
}

Value widenInt(OpBuilder& b, Location loc, Value x, Type to, bool isSigned) {
  if (x.getType() == to) return x;
  if (isSigned) return arith::ExtSIOp::create(b, loc, to, x);
  return arith::ExtUIOp::create(b, loc, to, x);
}

Value intToFloat(OpBuilder& b, Location loc, Value x, Type to, bool isSigned) {
  if (isSigned) return arith::SIToFPOp::create(b, loc, to, x);
  return arith::UIToFPOp::create(b, loc, to, x);
}

// A 64-bit integer of which a double holds every bit that decides how it rounds to fewer: where some of the
// lowest 11 are set, the 12th is set in their place.
Value roundToOdd(OpBuilder& b, Location loc, Value x, bool isSigned) {
  auto number = [&](std::uint64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(x.getType(), APInt(64, value)));
  };
  constexpr std::uint64_t kLost = 0x7ff, kExact = std::uint64_t{1} << 52;
  Value lost = isNonZero(b, loc, arith::AndIOp::create(b, loc, x, number(kLost)));
  Value odd =
      arith::OrIOp::create(b, loc, arith::AndIOp::create(b, loc, x, number(~kLost)), number(kLost + 1));
  // |x| < 2^52 is exact.
  Value moved = isSigned ? Value(arith::AddIOp::create(b, loc, x, number(kExact))) : x;
  Value large =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, moved, number(isSigned ? 2 * kExact : kExact));
  return arith::SelectOp::create(b, loc, arith::AndIOp::create(b, loc, lost, large), odd, x);
}

}  // namespace

Value castScalar(OpBuilder& b, Location loc, Value x, Type from, Type to, const CastRules& rules) {
  if (from == to) return x;
  if (to.isInteger(1)) return fromBool(b, loc, isNonZero(b, loc, unpack(b, loc, x, from)));
  const Type storage = storageOf(to);
  const bool toFloat = isa<FloatType>(to), fromFloat = isa<FloatType>(from);
  const bool fromSigned = !isUnsigned(from);
  const unsigned width = from.getIntOrFloatBitWidth();
  if (fromFloat) {
    if (!toFloat)
      return floatToInt(b, loc, unpack(b, loc, x, from), cast<IntegerType>(storage),
                        to.getIntOrFloatBitWidth(), !isUnsigned(to));
    Value value = unpack(b, loc, x, from);
    if (isSmallFloat(to)) return encodeFloat(b, loc, value, to, rules);
    if (value.getType() == to) return value;
    if (to.isF64()) return arith::ExtFOp::create(b, loc, to, value);
    return arith::TruncFOp::create(b, loc, to, value);
  }
  if (!toFloat) {
    if (storage.getIntOrFloatBitWidth() > x.getType().getIntOrFloatBitWidth())
      x = widenInt(b, loc, x, storage, fromSigned);
    return narrowInt(b, loc, x, storage, to.getIntOrFloatBitWidth(), !isUnsigned(to));
  }
  if (!isSmallFloat(to)) return intToFloat(b, loc, x, to, fromSigned);
  // Through a float that holds the integer, so that it is rounded once.
  if (width == 64) x = roundToOdd(b, loc, x, fromSigned);
  Value value = intToFloat(b, loc, x, width > 16 ? b.getF64Type() : b.getF32Type(), fromSigned);
  return encodeFloat(b, loc, value, to, rules);
}

Value bitcastScalar(OpBuilder& b, Location loc, Value x, Type from, Type to) {
  const Type storage = storageOf(to);
  if (x.getType() != storage) return arith::BitcastOp::create(b, loc, storage, x);
  const unsigned width = to.getIntOrFloatBitWidth();
  return width < 8 && !to.isInteger(1) ? narrowInt(b, loc, x, storage, width, to.isSignlessInteger()) : x;
}

}  // namespace kiln::schedule
