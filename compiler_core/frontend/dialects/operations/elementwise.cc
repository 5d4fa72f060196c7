#include "compiler_core/frontend/dialects/operations/elementwise.h"

namespace kiln::dialects {

using ir::BinaryKind;

Term isNan(const Term& value) {
  return !(value == value);
}

Term bitcastTo(OperationContext& op, const Term& value, mlir::Type element) {
  if (!value.ok()) return value;
  return {op, op.bitcast(*value.value(), element)};
}

Term bitsOf(OperationContext& op, const Term& value) {
  if (!value.ok()) return value;
  return bitcastTo(op, value, op.unsignedOf(elementOf(*value.value())));
}

namespace {

unsigned widthOf(const Term& value) {
  return elementOf(*value.value()).getIntOrFloatBitWidth();
}

Term shifted(OperationContext& op, const Term& bits, BinaryKind direction, std::int64_t by) {
  if (!bits.ok()) return bits;
  return bits.binary(direction, op.term(op.integer(elementOf(*bits.value()), by)));
}

// Of unsigned integers: neighbours are added up.
Term countOnes(OperationContext& op, const Term& bits, unsigned width) {
  if (!bits.ok()) return bits;
  const mlir::Type element = elementOf(*bits.value());
  auto mask = [&](std::uint64_t pattern) {
    return op.term(op.integer(element, static_cast<std::int64_t>(pattern)));
  };
  auto right = [&](const Term& value, std::int64_t by) { return shifted(op, value, BinaryKind::Shr, by); };
  Term count = bits - (right(bits, 1) & mask(0x5555555555555555));
  count = (count & mask(0x3333333333333333)) + (right(count, 2) & mask(0x3333333333333333));
  count = (count + right(count, 4)) & mask(0x0f0f0f0f0f0f0f0f);
  for (unsigned step = 8; step < width; step *= 2) count = count + right(count, step);
  return count & mask(0x7f);
}

}  // namespace

Term setBits(OperationContext& op, const Term& value) {
  const Term bits = bitsOf(op, value);
  if (!bits.ok()) return bits;
  return bitcastTo(op, countOnes(op, bits, widthOf(bits)), elementOf(*value.value()));
}

Term leadingZeros(OperationContext& op, const Term& value) {
  Term bits = bitsOf(op, value);
  if (!bits.ok()) return bits;
  const unsigned width = widthOf(bits);
  for (unsigned step = 1; step < width; step *= 2) bits = bits | shifted(op, bits, BinaryKind::Shr, step);
  const Term count = static_cast<double>(width) - countOnes(op, bits, width);
  return bitcastTo(op, count, elementOf(*value.value()));
}

Term copySign(OperationContext& op, const Term& size, const Term& sign) {
  if (!size.ok()) return size;
  const Term top = bitsOf(op, sign);
  if (!top.ok()) return top;
  const unsigned last = widthOf(top) - 1;
  const Term isNegative = shifted(op, top, BinaryKind::Shr, last) == 1.0;
  return isNegative.select(-size.abs(), size.abs());
}

Term roundAwayFromZero(OperationContext& op, const Term& value) {
  const Term size = value.abs(), whole = size.floor();
  return copySign(op, ((size - whole) >= 0.5).select(whole + 1.0, whole), value);
}

Term unsignedBinary(OperationContext& op, BinaryKind kind, const Term& a, const Term& b) {
  const Term result = bitsOf(op, a).binary(kind, bitsOf(op, b));
  if (!result.ok()) return result;
  return bitcastTo(op, result, elementOf(*a.value()));
}

Term ignoringNan(BinaryKind kind, const Term& a, const Term& b) {
  return isNan(a).select(b, isNan(b).select(a, a.binary(kind, b)));
}

Term clampInteger(OperationContext& op, const Term& value, std::int64_t low, std::int64_t high) {
  if (!value.ok()) return value;
  const mlir::Type element = elementOf(*value.value());
  return min(max(value, op.term(op.integer(element, low))), op.term(op.integer(element, high)));
}

}  // namespace kiln::dialects
