// What looks at the bits of numbers, and exact functions that follow from others.
#include <cmath>
#include <limits>
#include <numbers>

#include "compiler_core/frontend/stablehlo/operations/elementwise.h"
#include "compiler_core/frontend/stablehlo/operations/floats.h"
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {
namespace {

using ir::BinaryKind;
using ir::CompareKind;
using ir::UnaryKind;

Term shiftRight(const Term& a, double by) {
  return a.binary(BinaryKind::Shr, a.number(by));
}

Result<Values> one(const Term& term) {
  KILN_ASSIGN(Value value, Result<Value>(term.value()));
  return Values{value};
}

Status expectFloats(OperationContext& op) {
  for (Value operand : op.operands())
    if (!isFloat(operand) || elementOf(operand) != elementOf(op.operand(0)))
      return invalid("the operands are not of one float type");
  return {};
}

// An unsigned scalar of any bits.
Term bitsScalar(OperationContext& op, mlir::Type element, std::uint64_t bits) {
  auto type = mlir::RankedTensorType::get({}, element);
  return op.term(op.constant(mlir::DenseElementsAttr::get(
      type, llvm::APInt(element.getIntOrFloatBitWidth(), bits, /*isSigned=*/false, /*implicitTrunc=*/true))));
}

// The bits of integers and floats as unsigned integers.
Term bitsOf(OperationContext& op, Value value) {
  return {op, op.bitcast(value, op.unsignedOf(elementOf(value)))};
}

Term bitcastTo(OperationContext& op, const Term& value, mlir::Type element) {
  if (!value.ok()) return value;
  return {op, op.bitcast(*value.value(), element)};
}

// How many bits are set, by adding neighbours up.
Term countBits(OperationContext& op, const Term& bits, unsigned width, mlir::Type element) {
  auto mask = [&](std::uint64_t pattern) { return bitsScalar(op, element, pattern); };
  Term count = bits - (shiftRight(bits, 1) & mask(0x5555555555555555));
  count = (count & mask(0x3333333333333333)) + (shiftRight(count, 2) & mask(0x3333333333333333));
  count = (count + shiftRight(count, 4)) & mask(0x0f0f0f0f0f0f0f0f);
  for (unsigned step = 8; step < width; step *= 2) count = count + shiftRight(count, step);
  return count & mask(0x7f);
}

struct Integer {
  Term bits;
  mlir::Type element, narrow;  // in which it is counted; the operand's own, unsigned
  unsigned width;              // of the operand
};

Result<Integer> integerOf(OperationContext& op) {
  const mlir::Type element = elementOf(op.operand(0));
  if (!element.isInteger() || element.isInteger(1)) return invalid("the operand is no integer");
  const unsigned width = element.getIntOrFloatBitWidth();
  if (width >= 8)
    return Integer{bitsOf(op, op.operand(0)), op.unsignedOf(element), op.unsignedOf(element), width};
  const mlir::Type byte = mlir::IntegerType::get(op.context(), 8, mlir::IntegerType::Unsigned);
  return Integer{op.term(0).cast(op.unsignedOf(element)).cast(byte), byte, op.unsignedOf(element), width};
}

Result<Values> popcnt(OperationContext& op) {
  KILN_ASSIGN(const Integer integer, integerOf(op));
  const Term count = countBits(op, integer.bits, integer.element.getIntOrFloatBitWidth(), integer.element);
  return one(count.cast(elementOf(op.operand(0))));
}

Result<Values> countLeadingZeros(OperationContext& op) {
  KILN_ASSIGN(const Integer integer, integerOf(op));
  Term smeared = integer.bits;
  for (unsigned step = 1; step < integer.width; step *= 2) smeared = smeared | shiftRight(smeared, step);
  const Term count = countBits(op, smeared, integer.element.getIntOrFloatBitWidth(), integer.element);
  return one((static_cast<double>(integer.width) - count).cast(elementOf(op.operand(0))));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Result<Values> isFinite(OperationContext& op) {
  KILN_TRY(expectFloats(op));
  return one(op.term(0).abs() < kInfinity);
}
template <int sign>
Result<Values> isInfinite(OperationContext& op) {
  KILN_TRY(expectFloats(op));
  const Term x = op.term(0);
  return one((sign == 0 ? x.abs() : x) == (sign < 0 ? -kInfinity : kInfinity));
}

// To the nearest whole number, halves away from zero.
Result<Values> roundAwayFromZero(OperationContext& op) {
  KILN_TRY(expectFloats(op));
  const Term x = op.term(0), size = x.abs(), whole = size.floor();
  const Term rounded = ((size - whole) >= 0.5).select(whole + 1.0, whole);
  return one(copySign(op, rounded, x));
}

Result<Values> rsqrt(OperationContext& op) {
  return one(inFloat32(op, {op.operand(0)},
                       [](const std::vector<Term>& x) { return x[0].sqrt().unary(UnaryKind::Reciprocal); }));
}

Result<Values> cbrt(OperationContext& op) {
  KILN_TRY(expectFloats(op));
  const mlir::Type element = elementOf(op.operand(0)), wide = mlir::Float64Type::get(op.context());
  const Term x = op.term(0).cast(wide), size = x.abs();
  Term root = size.binary(BinaryKind::Pow, size.number(1.0 / 3));
  // One step of Newton's method takes back what 1/3 and the power lost; zero and infinity stay.
  if (element.isF64()) {
    const Term better = root - (root * root * root - size) / (3.0 * root * root);
    root = ((size == 0.0) | (size == kInfinity)).select(root, better);
  }
  return one(copySign(op, root, x).cast(element));
}

Result<Values> atan2(OperationContext& op) {
  KILN_TRY(expectFloats(op));
  const bool isWide = elementOf(op.operand(0)).isF64();
  return one(inFloat32(op, {op.operand(0), op.operand(1)}, [&](const std::vector<Term>& operands) {
    const Term &y = operands[0], &x = operands[1];
    const double pi = isWide ? std::numbers::pi : static_cast<double>(std::numbers::pi_v<float>);
    auto signed_ = [&](const Term& size) { return copySign(op, size, y); };
    const Term left = isNegative(op, x);
    const Term angle = (y / x).unary(UnaryKind::Atan);
    const Term turned = left.select(angle + signed_(y.number(pi)), angle);
    const Term onAxis = left.select(signed_(y.number(pi)), y);
    const Term atInfinity = left.select(signed_(y.number(3 * pi / 4)), signed_(y.number(pi / 4)));
    const Term bothInfinite = (y.abs() == kInfinity) & (x.abs() == kInfinity);
    const Term isNan = !((y == y) & (x == x));
    return isNan.select(y + x, bothInfinite.select(atInfinity, ((y == 0.0)).select(onAxis, turned)));
  }));
}

Result<Values> nextAfter(OperationContext& op) {
  KILN_TRY(expectFloats(op));
  const mlir::Type element = elementOf(op.operand(0)), integer = op.unsignedOf(element);
  const unsigned width = element.getIntOrFloatBitWidth();
  const Term x = op.term(0), y = op.term(1);
  const Term bits = bitsOf(op, op.operand(0)), target = bitsOf(op, op.operand(1));
  const Term signMask = bitsScalar(op, integer, std::uint64_t{1} << (width - 1));
  const Term unit = bitsScalar(op, integer, 1);
  const Term fromZero = bitcastTo(op, (target & signMask) | unit, element);
  // Towards zero the magnitude gets smaller: where the signs differ or the target's magnitude is less.
  const Term inwards = (y.abs() < x.abs()) | !((bits & signMask) == (target & signMask));
  const Term moved = bitcastTo(op, inwards.select(bits - unit, bits + unit), element);
  const Term result = (x == y).select(y, (x == 0.0).select(fromZero, moved));
  return one(((x == x) & (y == y)).select(result, x + y));
}

// The format of a float, by the bits of its parts.
struct Format {
  unsigned exponent, mantissa;
};
Format formatOf(mlir::Type element) {
  if (element.isF64()) return {11, 52};
  if (element.isF32()) return {8, 23};
  return element.isF16() ? Format{5, 10} : Format{8, 7};
}

// Rounds to a float of fewer bits, to nearest even; what is too large there becomes infinite, what is
// subnormal there zero.
Result<Values> reducePrecision(OperationContext& op) {
  KILN_TRY(expectFloats(op));
  const mlir::Type element = elementOf(op.operand(0)), integer = op.unsignedOf(element);
  const Format format = formatOf(element);
  KILN_ASSIGN(const std::int64_t exponentBits, op.integer("exponent_bits"));
  KILN_ASSIGN(const std::int64_t mantissaBits, op.integer("mantissa_bits"));
  if (exponentBits < 1 || mantissaBits < 0) return invalid("there is no float of so few bits");
  auto mask = [&](std::uint64_t bits) { return bitsScalar(op, integer, bits); };
  Term bits = bitsOf(op, op.operand(0));
  if (mantissaBits < format.mantissa) {
    const unsigned dropped = format.mantissa - static_cast<unsigned>(mantissaBits);
    const std::uint64_t last = std::uint64_t{1} << dropped;
    const Term isOdd = shiftRight(bits, dropped) & mask(1);
    bits = (bits + isOdd + mask((last >> 1) - 1)) & mask(~(last - 1));
  }
  if (exponentBits < format.exponent) {
    const std::uint64_t sign = std::uint64_t{1} << (format.exponent + format.mantissa);
    const std::uint64_t infinity = ((std::uint64_t{1} << format.exponent) - 1) << format.mantissa;
    const std::uint64_t bias = (std::uint64_t{1} << (format.exponent - 1)) - 1;
    const std::uint64_t own = (std::uint64_t{1} << (exponentBits - 1)) - 1;
    const Term exponent = bits & mask(infinity), zero = bits & mask(sign);
    bits = (exponent > mask((bias + own) << format.mantissa)).select(zero | mask(infinity), bits);
    bits = (exponent <= mask((bias - own) << format.mantissa)).select(zero, bits);
  }
  const Term x = op.term(0);
  // Without a mantissa there is no NaN.
  const Term nan = mantissaBits == 0 ? copySign(op, x.number(kInfinity), x) : x;
  return one((x == x).select(bitcastTo(op, bits, element), nan));
}

// A larger element is several smaller ones along one more dimension, the lowest bits first.
Result<Values> bitcastConvert(OperationContext& op) {
  const Value input = op.operand(0);
  const mlir::Type from = elementOf(input), to = op.resultElement();
  const unsigned have = from.getIntOrFloatBitWidth(), want = to.getIntOrFloatBitWidth();
  if (have == want) {
    KILN_ASSIGN(Value result, op.bitcast(input, to));
    return Values{result};
  }
  Shape shape = dimsOf(input);
  const unsigned large = std::max(have, want), small = std::min(have, want);
  const auto parts = static_cast<std::int64_t>(large / small);
  auto word = [&](unsigned width) {
    return mlir::IntegerType::get(op.context(), std::max(width, 8u), mlir::IntegerType::Unsigned);
  };
  if (have > want) {
    shape.push_back(1);
    const Term words = bitcastTo(op, op.term(0), word(have)).reshape(shape);
    const Term places = frontend::countAlong(op, word(have), parts, rankOf(input), rankOf(input) + 1) *
                        static_cast<double>(small);
    Term pieces = words.binary(BinaryKind::Shr, places);
    if (small < 8) return one((pieces & bitsScalar(op, word(have), (1u << small) - 1)).cast(to));
    return one(bitcastTo(op, pieces.cast(word(small)), to));
  }
  if (shape.empty() || !(shape.back() == Dim(parts)))
    return invalid("the last dimension must hold the parts of one element");
  Term pieces = small == 1  ? op.term(0)
                : small < 8 ? op.term(0).cast(op.unsignedOf(from))
                            : bitcastTo(op, op.term(0), word(small));
  pieces = pieces.cast(word(large));
  const Term places = frontend::countAlong(op, word(large), parts, rankOf(input) - 1, rankOf(input)) *
                      static_cast<double>(small);
  // No two parts have a bit in common, so that their sum is their union.
  const Term words = pieces.binary(BinaryKind::Shl, places).reduce(ir::ReduceKind::Sum, {rankOf(input) - 1});
  return one(bitcastTo(op, words, to));
}

// The upper half of the product.
Result<Values> multiplyHigh(OperationContext& op) {
  const mlir::Type element = elementOf(op.operand(0));
  if (!element.isInteger() || element.isInteger(1)) return invalid("the operands are no integers");
  const unsigned width = element.getIntOrFloatBitWidth();
  const bool isUnsigned = element.isUnsignedInteger();
  if (width < 64) {
    const auto sign = isUnsigned ? mlir::IntegerType::Unsigned : mlir::IntegerType::Signless;
    const mlir::Type wide = mlir::IntegerType::get(op.context(), 64, sign);
    return one(shiftRight(op.term(0).cast(wide) * op.term(1).cast(wide), width).cast(element));
  }
  // In halves of 32 bits, unsigned; a negative factor has counted the other one 2^64 times too often.
  const Term a = bitsOf(op, op.operand(0)), b = bitsOf(op, op.operand(1));
  const Term low = bitsScalar(op, op.unsignedOf(element), 0xffffffff);
  const Term a0 = a & low, a1 = shiftRight(a, 32), b0 = b & low, b1 = shiftRight(b, 32);
  const Term middle = a1 * b0 + shiftRight(a0 * b0, 32), other = a0 * b1 + (middle & low);
  Term high = a1 * b1 + shiftRight(middle, 32) + shiftRight(other, 32);
  if (!isUnsigned) {
    const Term zero = high.number(0);
    high = high - isNegative(op, op.term(0)).select(b, zero) - isNegative(op, op.term(1)).select(a, zero);
  }
  return one(bitcastTo(op, high, element));
}

}  // namespace

Term isNegative(OperationContext& op, const Term& value) {
  if (!value.ok()) return value;
  const mlir::Type integer = op.signedOf(elementOf(*value.value()));
  return bitcastTo(op, value, integer) < 0.0;
}

Term copySign(OperationContext& op, const Term& size, const Term& sign) {
  if (!size.ok()) return size;
  if (!sign.ok()) return sign;
  const mlir::Type element = elementOf(*size.value()), integer = op.unsignedOf(element);
  const std::uint64_t top = std::uint64_t{1} << (integer.getIntOrFloatBitWidth() - 1);
  const Term kept = bitcastTo(op, size, integer) & bitsScalar(op, integer, top - 1);
  const Term taken = bitcastTo(op, sign, integer) & bitsScalar(op, integer, top);
  return bitcastTo(op, kept | taken, element);
}

Term inFloat32(OperationContext& op, const Values& operands,
               llvm::function_ref<Term(const std::vector<Term>&)> formula) {
  const mlir::Type element = elementOf(operands[0]);
  const bool isSmall = llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  std::vector<Term> terms;
  for (Value operand : operands)
    terms.push_back(isSmall ? op.term(operand).cast(op.f32()) : op.term(operand));
  const Term result = formula(terms);
  return isSmall && result.ok() && isFloat(*result.value()) ? result.cast(element) : result;
}

std::span<const Row> bitRows() {
  static constexpr Row kRows[] = {
      {"atan2", atan2, 2, 0, true},
      {"bitcast_convert", bitcastConvert, 1, 0, false, true},
      {"cbrt", cbrt, 1, 0, true},
      {"chlo.is_inf", isInfinite<0>, 1, 0, true},
      {"chlo.is_neg_inf", isInfinite<-1>, 1, 0, true},
      {"chlo.is_pos_inf", isInfinite<1>, 1, 0, true},
      {"chlo.mulhi", multiplyHigh, 2, 0, true},
      {"chlo.next_after", nextAfter, 2, 0, true},
      {"count_leading_zeros", countLeadingZeros, 1, 0, true},
      {"is_finite", isFinite, 1, 0, true},
      {"popcnt", popcnt, 1, 0, true},
      {"reduce_precision", reducePrecision, 1, 0, true},
      {"round_nearest_afz", roundAwayFromZero, 1, 0, true},
      {"rsqrt", rsqrt, 1, 0, true},
  };
  return kRows;
}

}  // namespace kiln::stablehlo
