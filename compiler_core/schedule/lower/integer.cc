#include <cmath>

#include "compiler_core/schedule/lower/scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kiln::schedule {

using namespace mlir;

namespace {

using Is = arith::CmpIPredicate;

Value compare(OpBuilder& b, Location loc, Is predicate, Value x, double y) {
  return arith::CmpIOp::create(b, loc, predicate, x, numberOf(b, loc, x.getType(), y));
}
Value select(OpBuilder& b, Location loc, Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, loc, condition, x, y);
}

}  // namespace

// Division by zero gives 0, and the most negative number by -1 wraps.
Value divideInt(OpBuilder& b, Location loc, Value x, Value y, bool isSigned) {
  Value zero = numberOf(b, loc, y.getType(), 0), one = numberOf(b, loc, y.getType(), 1);
  Value byZero = compare(b, loc, Is::eq, y, 0);
  if (!isSigned) {
    Value quotient = arith::DivUIOp::create(b, loc, x, select(b, loc, byZero, one, y));
    return select(b, loc, byZero, zero, quotient);
  }
  Value byMinusOne = compare(b, loc, Is::eq, y, -1);
  Value special = arith::OrIOp::create(b, loc, byZero, byMinusOne);
  Value quotient = arith::DivSIOp::create(b, loc, x, select(b, loc, special, one, y));
  quotient = select(b, loc, byMinusOne, arith::SubIOp::create(b, loc, zero, x), quotient);
  return select(b, loc, byZero, zero, quotient);
}

Value remainderInt(OpBuilder& b, Location loc, Value x, Value y, bool isSigned, bool floors) {
  // A divisor of 1 leaves 0, which is what 0 and -1 shall give.
  Value one = numberOf(b, loc, y.getType(), 1), byZero = compare(b, loc, Is::eq, y, 0);
  if (!isSigned) return arith::RemUIOp::create(b, loc, x, select(b, loc, byZero, one, y));
  Value special = arith::OrIOp::create(b, loc, byZero, compare(b, loc, Is::eq, y, -1));
  Value rest = arith::RemSIOp::create(b, loc, x, select(b, loc, special, one, y));
  if (!floors) return rest;
  Value opposite = compare(b, loc, Is::slt, arith::XOrIOp::create(b, loc, rest, y), 0);
  Value wrong = arith::AndIOp::create(b, loc, opposite, compare(b, loc, Is::ne, rest, 0));
  return select(b, loc, wrong, arith::AddIOp::create(b, loc, rest, y), rest);
}

// Square and multiply over every bit of the exponent.
Value powerInt(OpBuilder& b, Location loc, Value x, Value y, bool isSigned) {
  const Type type = x.getType();
  Value zero = numberOf(b, loc, type, 0), one = numberOf(b, loc, type, 1),
        minusOne = numberOf(b, loc, type, -1);
  Value result = one, power = x;
  for (unsigned bit = 0; bit < type.getIntOrFloatBitWidth(); ++bit) {
    Value mask = arith::ConstantOp::create(
        b, loc, b.getIntegerAttr(type, APInt::getOneBitSet(type.getIntOrFloatBitWidth(), bit)));
    Value isSet = compare(b, loc, Is::ne, arith::AndIOp::create(b, loc, y, mask), 0);
    result = select(b, loc, isSet, arith::MulIOp::create(b, loc, result, power), result);
    power = arith::MulIOp::create(b, loc, power, power);
  }
  if (!isSigned) return result;
  // The truncated quotient 1 / x^-y: only 1 and -1 leave something.
  Value isOdd = compare(b, loc, Is::ne, arith::AndIOp::create(b, loc, y, one), 0);
  Value quotient = select(b, loc, compare(b, loc, Is::eq, x, -1), select(b, loc, isOdd, minusOne, one), zero);
  quotient = select(b, loc, compare(b, loc, Is::eq, x, 1), one, quotient);
  return select(b, loc, compare(b, loc, Is::slt, y, 0), quotient, result);
}

// By the width or more, nothing is left but the sign.
Value shiftInt(OpBuilder& b, Location loc, Value x, Value y, bool isSigned, bool left) {
  const unsigned width = x.getType().getIntOrFloatBitWidth();
  Value zero = numberOf(b, loc, x.getType(), 0), far = compare(b, loc, Is::uge, y, width);
  if (!left && isSigned) {
    Value most = numberOf(b, loc, x.getType(), width - 1);
    return arith::ShRSIOp::create(b, loc, x, select(b, loc, far, most, y));
  }
  Value amount = select(b, loc, far, zero, y);
  Value shifted = left ? Value(arith::ShLIOp::create(b, loc, x, amount))
                       : Value(arith::ShRUIOp::create(b, loc, x, amount));
  return select(b, loc, far, zero, shifted);
}

namespace {

// To a width whose limits are exact in the float: what is beyond them is brought to them first, in two
// instructions (of which the first makes NaN the lower one), and conversions are those to i32, which
// processors have.
Value floatToNarrowInt(OpBuilder& b, Location loc, Value x, IntegerType to, unsigned width, bool isSigned) {
  const double most = std::ldexp(1.0, static_cast<int>(width) - isSigned) - 1,
               least = isSigned ? -most - 1 : 0;
  auto limited = [&](arith::CmpFPredicate inside, Value value, double limit) {
    Value bound = numberOf(b, loc, x.getType(), limit);
    return select(b, loc, arith::CmpFOp::create(b, loc, inside, value, bound), value, bound);
  };
  Value inside = limited(arith::CmpFPredicate::OLT, limited(arith::CmpFPredicate::OGT, x, least), most);
  Value whole = arith::FPToSIOp::create(b, loc, b.getI32Type(), inside);
  if (isSigned)
    whole = select(b, loc, arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x),
                   numberOf(b, loc, whole.getType(), 0), whole);
  return to.getWidth() < 32 ? Value(arith::TruncIOp::create(b, loc, to, whole)) : whole;
}

}  // namespace

// The conversion itself is undefined outside its range; select keeps such a lane from being chosen.
Value floatToInt(OpBuilder& b, Location loc, Value x, IntegerType to, unsigned width, bool isSigned) {
  if (width <= 16) return floatToNarrowInt(b, loc, x, to, width, isSigned);
  const double limit = std::ldexp(1.0, static_cast<int>(width) - isSigned);
  auto number = [&](const APInt& value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(to, value.sextOrTrunc(to.getWidth())));
  };
  auto is = [&](arith::CmpFPredicate predicate, Value y) -> Value {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  };
  Value result = isSigned ? Value(arith::FPToSIOp::create(b, loc, to, x))
                          : Value(arith::FPToUIOp::create(b, loc, to, x));
  APInt most = isSigned ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width).zext(65);
  APInt least = isSigned ? APInt::getSignedMinValue(width) : APInt::getZero(width);
  Value over = is(arith::CmpFPredicate::OGE, numberOf(b, loc, x.getType(), limit));
  Value under = isSigned ? is(arith::CmpFPredicate::OLT, numberOf(b, loc, x.getType(), -limit))
                         : is(arith::CmpFPredicate::OLE, numberOf(b, loc, x.getType(), -1));
  result = select(b, loc, over, number(most), result);
  result = select(b, loc, under, number(least), result);
  return select(b, loc, is(arith::CmpFPredicate::UNO, x), number(APInt::getZero(width)), result);
}

}  // namespace kiln::schedule
