#include "compiler_core/frontend/stablehlo/bytecode/vhlo_literal.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler_core/frontend/stablehlo/program/element.h"

namespace kiln::stablehlo {
namespace {

bool isSigned(Element element) {
  return element >= Element::kI2 && element <= Element::kI64;
}

double halfToDouble(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double mantissa = bits & 1023;
  double value = 0;
  if (exponent == 31)
    value =
        mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else
    value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return bits >> 15 ? -value : value;
}

// Fills a literal with memory of its own, one byte for each element.
template <class At>
void unpack(Literal& literal, std::size_t count, At at) {
  std::shared_ptr<std::uint8_t[]> bytes(new std::uint8_t[count]);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(at(i));
  literal.bytes = {bytes.get(), count};
  literal.owner = std::move(bytes);
}

Result<Literal> booleans(Literal literal, Bytes bytes, std::uint64_t count) {
  constexpr std::uint8_t kAllTrue = 0xFF;
  const std::uint64_t packed = (count + 7) / 8;
  if (bytes.size() == 1 && count > 1 && (packed > 1 || bytes[0] == kAllTrue || bytes[0] == 0)) {
    if (bytes[0] != kAllTrue && bytes[0] != 0)
      return fail(Code::kInvalidArgument,
                  "a literal of type " + literal.type.text + " is one byte that is no boolean");
    literal.isSplat = true;
    unpack(literal, 1, [&](std::size_t) { return bytes[0] != 0; });
    return literal;
  }
  if (bytes.size() != packed) return fail(checkLiteral(literal.type, false, bytes.size()).error());
  unpack(literal, static_cast<std::size_t>(count),
         [&](std::size_t i) { return (bytes[i / 8] >> (i % 8)) & 1; });
  return literal;
}

}  // namespace

std::size_t bitWidth(Element element) {
  switch (element) {
    case Element::kI1:
      return 1;
    case Element::kI2:
    case Element::kUI2:
      return 2;
    case Element::kI4:
    case Element::kUI4:
      return 4;
    default:
      return 8 * elementBytes(element);
  }
}

double floatOf(Element element, std::uint64_t bits) {
  switch (element) {
    case Element::kBF16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    case Element::kF16:
      return halfToDouble(static_cast<std::uint16_t>(bits));
    case Element::kF32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    default:
      return std::bit_cast<double>(bits);
  }
}

std::int64_t integerOf(Element element, std::uint64_t bits) {
  const int unused = 64 - static_cast<int>(bitWidth(element));
  if (isSigned(element)) return static_cast<std::int64_t>(bits << unused) >> unused;
  return static_cast<std::int64_t>(bits << unused >> unused);
}

Result<Literal> vhloLiteral(Type type, Bytes bytes, std::shared_ptr<const void> owner) {
  Literal literal;
  literal.type = std::move(type);
  if (literal.type.kind != Type::Kind::kTensor)
    return fail(Code::kInvalidArgument, "a literal of type " + literal.type.text + ", which is no tensor");
  const std::optional<std::int64_t> count = elementCount(literal.type.shape);
  if (!count)
    return fail(Code::kInvalidArgument, "a literal of type " + literal.type.text + " has no known size");
  const Element element = literal.type.element;
  if (element == Element::kOther || *count == 0) return literal;
  if (element == Element::kI1) return booleans(std::move(literal), bytes, static_cast<std::uint64_t>(*count));
  literal.isSplat = *count > 1 && bytes.size() == elementBytes(element);
  KILN_TRY(checkLiteral(literal.type, literal.isSplat, bytes.size()));
  if (bitWidth(element) < 8) {
    unpack(literal, bytes.size(), [&](std::size_t i) { return integerOf(element, bytes[i]); });
    return literal;
  }
  literal.bytes = bytes;
  literal.owner = std::move(owner);
  return literal;
}

}  // namespace kiln::stablehlo
