#include "compiler_core/reference/element.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace kiln::reference {
namespace {

template <class T>
T load(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void store(std::uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// What an integer type holds; width 0 for other types.
struct Integer {
  int width = 0;
  bool isSigned = false;
};
Integer integerOf(DType type) {
  switch (type) {
    case DType::kI2:
      return {2, true};
    case DType::kI4:
      return {4, true};
    case DType::kI8:
      return {8, true};
    case DType::kI16:
      return {16, true};
    case DType::kI32:
      return {32, true};
    case DType::kI64:
      return {64, true};
    case DType::kU2:
      return {2, false};
    case DType::kU4:
      return {4, false};
    case DType::kU8:
      return {8, false};
    case DType::kU16:
      return {16, false};
    case DType::kU32:
      return {32, false};
    case DType::kU64:
      return {64, false};
    default:
      return {};
  }
}

// The low `width` bits of `bits`, extended.
std::uint64_t extended(std::uint64_t bits, Integer type) {
  const int shift = 64 - type.width;
  bits <<= shift;
  return type.isSigned ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> shift) : bits >> shift;
}

// Truncation that saturates; NaN is 0.
std::uint64_t truncated(double value, Integer type) {
  if (std::isnan(value)) return 0;
  const double limit = std::ldexp(1.0, type.width - type.isSigned);  // exact, one beyond the largest
  const std::uint64_t largest = ~std::uint64_t{0} >> (64 - type.width + type.isSigned);
  if (value >= limit) return largest;
  if (!type.isSigned) return value <= -1 ? 0 : static_cast<std::uint64_t>(value);
  return value < -limit ? ~largest : static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

}  // namespace

Element readElement(DType type, const std::uint8_t* at) {
  Element result;
  if (const Integer integer = integerOf(type); integer.width != 0) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, dtypeBytes(type));
    return {true, integer.isSigned, extended(bits, integer), 0};
  }
  if (type == DType::kBool) return {true, false, *at != 0, 0};
  if (type == DType::kF32) {
    result.real = load<float>(at);
  } else if (type == DType::kF64) {
    result.real = load<double>(at);
  } else {
    const std::uint32_t code = dtypeBytes(type) == 2 ? load<std::uint16_t>(at) : *at;
    result.real = decodeFloat(*floatFormat(type), code);
  }
  return result;
}

void writeElement(DType type, std::uint8_t* at, const Element& value, const CastRules& rules) {
  if (type == DType::kBool) {
    *at = value.isInteger ? value.bits != 0 : value.real != 0;
  } else if (const Integer integer = integerOf(type); integer.width != 0) {
    const std::uint64_t bits =
        extended(value.isInteger ? value.bits : truncated(value.real, integer), integer);
    // Codes of unsigned types below a byte are zero-extended, signed ones carry their sign: both are `bits`.
    std::memcpy(at, &bits, dtypeBytes(type));
  } else if (type == DType::kF32) {
    store(at, !value.isInteger ? static_cast<float>(value.real)
              : value.isSigned ? static_cast<float>(static_cast<std::int64_t>(value.bits))
                               : static_cast<float>(value.bits));
  } else if (type == DType::kF64) {
    store(at, toDouble(value));
  } else {
    const double real = value.isInteger ? roundToOdd(value.bits, value.isSigned) : value.real;
    const std::uint32_t code = encodeFloat(*floatFormat(type), real, rules.overflow, rules.rounding);
    if (dtypeBytes(type) == 2)
      store(at, static_cast<std::uint16_t>(code));
    else
      *at = static_cast<std::uint8_t>(code);
  }
}

double toDouble(const Element& value) {
  if (!value.isInteger) return value.real;
  return value.isSigned ? static_cast<double>(static_cast<std::int64_t>(value.bits))
                        : static_cast<double>(value.bits);
}

double roundToOdd(std::uint64_t bits, bool isSigned) {
  // 52 bits and a sign are exact in a double, so 11 bits may be lost.
  constexpr std::uint64_t kLost = 0x7ff;
  const auto whole = static_cast<std::int64_t>(bits);
  const bool small =
      isSigned ? whole < (std::int64_t{1} << 52) && whole > -(std::int64_t{1} << 52) : bits >> 52 == 0;
  if (!small && (bits & kLost)) bits = (bits & ~kLost) | (kLost + 1);
  return isSigned ? static_cast<double>(static_cast<std::int64_t>(bits)) : static_cast<double>(bits);
}

}  // namespace kiln::reference
