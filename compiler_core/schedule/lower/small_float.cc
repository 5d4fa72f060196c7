// Floats below 32 bits travel as integers of their width; here they become f32 and are rounded back.
// Arithmetic on vectors throughout, with the same bits on every target.
#include "compiler_core/schedule/lower/scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kiln::schedule {

using namespace mlir;

namespace {

// Codes without their sign; `beyond` is what an overflow gives. Sign 0: the format has none.
struct Codes {
  unsigned mantissa;
  int bias;
  std::uint32_t sign, largest, nan, beyond;
  bool zeroHasSign = true;
};
std::optional<Codes> codesOf(Type type) {
  if (isa<Float16Type>(type)) return Codes{10, 15, 0x8000, 0x7bff, 0x7e00, 0x7c00};
  if (isa<BFloat16Type>(type)) return Codes{7, 127, 0x8000, 0x7f7f, 0x7fc0, 0x7f80};
  if (isa<Float8E4M3FNType>(type)) return Codes{3, 7, 0x80, 0x7e, 0x7f, 0x7f};
  if (isa<Float8E4M3FNUZType>(type)) return Codes{3, 8, 0x80, 0x7f, 0x80, 0x80, false};
  if (isa<Float8E5M2Type>(type)) return Codes{2, 15, 0x80, 0x7b, 0x7e, 0x7c};
  if (isa<Float8E5M2FNUZType>(type)) return Codes{2, 16, 0x80, 0x7f, 0x80, 0x80, false};
  if (isa<Float4E2M1FNType>(type)) return Codes{1, 1, 0x8, 0x7, 0x0, 0x7};
  return std::nullopt;
}

// Integer arithmetic at one place in one type.
struct Bits {
  OpBuilder& b;
  Location loc;
  Type type;

  Value number(std::uint64_t value) const {
    return arith::ConstantOp::create(
        b, loc, b.getIntegerAttr(type, APInt(type.getIntOrFloatBitWidth(), value, false, true)));
  }
  Value add(Value x, Value y) const { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) const { return arith::SubIOp::create(b, loc, x, y); }
  Value masked(Value x, std::uint64_t mask) const { return arith::AndIOp::create(b, loc, x, number(mask)); }
  Value either(Value x, Value y) const { return arith::OrIOp::create(b, loc, x, y); }
  Value left(Value x, unsigned by) const { return arith::ShLIOp::create(b, loc, x, number(by)); }
  Value right(Value x, Value by) const { return arith::ShRUIOp::create(b, loc, x, by); }
  Value is(arith::CmpIPredicate predicate, Value x, Value y) const {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) const {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
};
using Is = arith::CmpIPredicate;

// The exponent alone: 2^(code - 127).
Value encodePower(const Bits& at, Value bits, const CastRules& rules) {
  const bool isDouble = at.type.isInteger(64);
  const unsigned mantissa = isDouble ? 52 : 23;
  const std::uint64_t one = std::uint64_t{1} << mantissa;
  const std::int64_t lowest = isDouble ? 1023 - 127 : 0;  // the source's exponent of 2^-127
  // f32 keeps 2^-127 as a subnormal: twice the mantissa has the same reading as a normal number there.
  Value magnitude = at.masked(bits, ~(std::uint64_t{1} << (at.type.getIntOrFloatBitWidth() - 1)));
  if (!isDouble) {
    Value subnormal = at.is(Is::ult, magnitude, at.number(one));
    magnitude = at.select(subnormal, at.left(magnitude, 1), at.add(magnitude, at.number(one)));
  }
  // Exponents are one larger for f32 now.
  const std::int64_t offset = lowest + (isDouble ? 0 : 1);
  Value least = at.number(static_cast<std::uint64_t>(offset) << mantissa);
  Value clamped = arith::MaxUIOp::create(at.b, at.loc, magnitude, least);
  const std::uint64_t bump = rules.rounding == ir::CastRounding::Up        ? one - 1
                             : rules.rounding == ir::CastRounding::Nearest ? one / 2
                                                                           : 0;
  Value code = at.sub(at.right(at.add(clamped, at.number(bump)), at.number(mantissa)),
                      at.number(static_cast<std::uint64_t>(offset)));
  code = arith::MinUIOp::create(at.b, at.loc, code, at.number(rules.overflow ? 255 : 254));
  const std::uint64_t infinity = isDouble ? std::uint64_t{0x7ff} << 52 : std::uint64_t{0x100} << 23;
  return at.select(at.is(Is::uge, magnitude, at.number(infinity)), at.number(255), code);
}

}  // namespace

bool isSmallFloat(Type element) {
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
}

Value decodeFloat(OpBuilder& b, Location loc, Value code, Type element) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  if (isa<Float16Type>(element))
    return arith::ExtFOp::create(b, loc, f32,
                                 arith::BitcastOp::create(b, loc, b.getF16Type(), code).getResult());
  const Bits at{b, loc, i32};
  auto asFloat = [&](Value bits) { return arith::BitcastOp::create(b, loc, f32, bits).getResult(); };
  Value bits = arith::ExtUIOp::create(b, loc, i32, code);
  if (isa<BFloat16Type>(element)) return asFloat(at.left(bits, 16));
  if (isa<Float8E8M0FNUType>(element)) {
    Value power = at.select(at.is(Is::eq, bits, at.number(0)), at.number(0x400000), at.left(bits, 23));
    return asFloat(at.select(at.is(Is::eq, bits, at.number(255)), at.number(0x7fc00000), power));
  }
  const Codes codes = *codesOf(element);
  Value magnitude = at.masked(bits, codes.sign - 1);
  // The exponent field lands in f32's; a product with a power of two moves it, subnormal numbers included.
  const auto scale = static_cast<std::uint32_t>(127 + 127 - codes.bias) << 23;
  Value value = arith::MulFOp::create(b, loc, asFloat(at.left(magnitude, 23 - codes.mantissa)),
                                      asFloat(at.number(scale)));
  Value result = arith::BitcastOp::create(b, loc, i32, value);
  if (codes.nan != 0 && codes.zeroHasSign) {
    Value special = at.number(0x7fc00000);
    if (codes.beyond != codes.nan)
      special = at.select(at.is(Is::eq, magnitude, at.number(codes.beyond)), at.number(0x7f800000), special);
    result = at.select(at.is(Is::ugt, magnitude, at.number(codes.largest)), special, result);
  }
  const unsigned toSign = 31 - static_cast<unsigned>(llvm::Log2_32(codes.sign));
  result = at.either(result, at.left(at.masked(bits, codes.sign), toSign));
  if (!codes.zeroHasSign)
    result = at.select(at.is(Is::eq, bits, at.number(codes.nan)), at.number(0x7fc00000), result);
  return asFloat(result);
}

Value encodeFloat(OpBuilder& b, Location loc, Value value, Type element, const CastRules& rules) {
  const Type from = value.getType(), code = b.getIntegerType(element.getIntOrFloatBitWidth() > 8 ? 16 : 8);
  if (isa<Float16Type>(element) && from.isF32())
    return arith::BitcastOp::create(b, loc, code, arith::TruncFOp::create(b, loc, b.getF16Type(), value));
  const unsigned width = from.getIntOrFloatBitWidth(), mantissa = width == 32 ? 23 : 52;
  const int bias = width == 32 ? 127 : 1023;
  const Bits at{b, loc, b.getIntegerType(width)};
  Value bits = arith::BitcastOp::create(b, loc, at.type, value);
  auto narrow = [&](Value result) { return arith::TruncIOp::create(b, loc, code, result).getResult(); };
  if (isa<Float8E8M0FNUType>(element)) return narrow(encodePower(at, bits, rules));

  const Codes codes = *codesOf(element);
  const std::uint64_t signBit = std::uint64_t{1} << (width - 1), one = std::uint64_t{1} << mantissa;
  Value magnitude = at.masked(bits, signBit - 1);
  Value significand = magnitude, shift = at.number(mantissa - codes.mantissa);
  if (bias != codes.bias) {
    // A normal number keeps its exponent field, moved to the new bias; a subnormal one is its significand,
    // shifted by what the exponent lacks.
    const std::uint64_t moved = static_cast<std::uint64_t>(bias - codes.bias) << mantissa;
    Value normal = at.is(Is::uge, magnitude, at.number(moved + one));
    Value lacks = at.sub(at.number(static_cast<std::uint64_t>(bias - codes.bias + 1)),
                         at.right(magnitude, at.number(mantissa)));
    lacks = arith::MinUIOp::create(b, loc, at.add(lacks, shift), at.number(mantissa + 2));
    Value explicitOne = at.either(at.masked(magnitude, one - 1), at.number(one));
    significand = at.select(normal, at.sub(magnitude, at.number(moved)), explicitOne);
    shift = at.select(normal, shift, lacks);
  }
  // To nearest, ties to even: half of the last place less one, and one more where the result would be odd.
  Value half = arith::ShLIOp::create(b, loc, at.number(1), at.sub(shift, at.number(1)));
  Value odd = at.masked(at.right(significand, shift), 1);
  Value rounded = at.right(at.add(at.add(significand, at.sub(half, at.number(1))), odd), shift);
  const bool overflow = rules.overflow || element.getIntOrFloatBitWidth() == 16;
  const std::uint64_t beyond = overflow ? codes.beyond : codes.largest;
  Value result = at.select(at.is(Is::ugt, rounded, at.number(codes.largest)), at.number(beyond), rounded);
  const std::uint64_t infinity = (std::uint64_t{2} * static_cast<unsigned>(bias) + 1) << mantissa;
  Value isNan = at.is(Is::ugt, magnitude, at.number(infinity));
  result = at.select(isNan, at.number(codes.nan), result);
  Value sign = at.right(at.masked(bits, signBit),
                        at.number(width - 1 - static_cast<unsigned>(llvm::Log2_32(codes.sign))));
  if (codes.nan == 0) {
    sign = at.select(isNan, at.number(0), sign);
  } else if (!codes.zeroHasSign) {
    Value alone = at.either(at.is(Is::eq, result, at.number(0)), at.is(Is::eq, result, at.number(codes.nan)));
    sign = at.select(alone, at.number(0), sign);
  }
  return narrow(at.either(result, sign));
}

}  // namespace kiln::schedule
