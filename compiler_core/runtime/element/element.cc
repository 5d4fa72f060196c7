#include "compiler_core/runtime/element/element.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace kiln::runtime {
namespace {

// A binary floating-point format of at most 16 bits. Source: IEEE 754 for f16, bfloat16 as f32 cut short, the
// OCP specifications "8-bit Floating Point" and "Microscaling Formats" and, for the FNUZ forms, MLIR's.
struct Format {
  int exponentBits, fractionBits, bias;
  enum Special {
    kIeee,         // the largest exponent holds infinities and NaN
    kFinite,       // the largest code alone is NaN, with either sign
    kNoMinusZero,  // its code is NaN
    kNone          // every code is a number
  } special;
};

constexpr Format kF16{5, 10, 15, Format::kIeee}, kBF16{8, 7, 127, Format::kIeee},
    kF8E4M3FN{4, 3, 7, Format::kFinite}, kF8E4M3FNUZ{4, 3, 8, Format::kNoMinusZero},
    kF8E5M2{5, 2, 15, Format::kIeee}, kF8E5M2FNUZ{5, 2, 16, Format::kNoMinusZero},
    kF4E2M1FN{2, 1, 1, Format::kNone};

long double decode(const Format& format, unsigned bits) {
  const unsigned sign = bits >> (format.exponentBits + format.fractionBits) & 1u;
  const unsigned magnitude = bits & ((1u << (format.exponentBits + format.fractionBits)) - 1u);
  const int exponent = static_cast<int>(magnitude >> format.fractionBits);
  const int largest = (1 << format.exponentBits) - 1;
  const unsigned fraction = magnitude & ((1u << format.fractionBits) - 1u);
  const long double nan = std::nanl("");
  if (format.special == Format::kIeee && exponent == largest) {
    if (fraction != 0) return nan;
    return sign != 0 ? -HUGE_VALL : HUGE_VALL;
  }
  if (format.special == Format::kFinite && exponent == largest &&
      fraction == (1u << format.fractionBits) - 1u)
    return nan;
  if (format.special == Format::kNoMinusZero && sign != 0 && magnitude == 0) return nan;
  const long double hidden = exponent == 0 ? 0 : std::ldexp(1.0L, format.fractionBits);
  const long double value =
      std::ldexp(hidden + fraction, (exponent == 0 ? 1 : exponent) - format.bias - format.fractionBits);
  return sign != 0 ? -value : value;
}

template <class T>
T load(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

long double elementValue(DType dtype, const std::uint8_t* at) {
  switch (dtype) {
    case DType::kF32:
      return load<float>(at);
    case DType::kF64:
      return load<double>(at);
    case DType::kF16:
      return decode(kF16, load<std::uint16_t>(at));
    case DType::kBF16:
      return decode(kBF16, load<std::uint16_t>(at));
    case DType::kF8E4M3FN:
      return decode(kF8E4M3FN, *at);
    case DType::kF8E4M3FNUZ:
      return decode(kF8E4M3FNUZ, *at);
    case DType::kF8E5M2:
      return decode(kF8E5M2, *at);
    case DType::kF8E5M2FNUZ:
      return decode(kF8E5M2FNUZ, *at);
    case DType::kF8E8M0FNU:  // an exponent alone: no sign, no zero
      return *at == 0xff ? std::nanl("") : std::ldexp(1.0L, *at - 127);
    case DType::kF4E2M1FN:
      return decode(kF4E2M1FN, *at);
    case DType::kI8:
    case DType::kI4:
    case DType::kI2:
      return load<std::int8_t>(at);
    case DType::kI16:
      return load<std::int16_t>(at);
    case DType::kI32:
      return load<std::int32_t>(at);
    case DType::kI64:
      return load<std::int64_t>(at);
    case DType::kU8:
    case DType::kBool:
    case DType::kU4:
    case DType::kU2:
      return *at;
    case DType::kU16:
      return load<std::uint16_t>(at);
    case DType::kU32:
      return load<std::uint32_t>(at);
    case DType::kU64:
      return load<std::uint64_t>(at);
  }
  return 0;
}

bool holdsIntegers(DType dtype) {
  return epsilon(dtype) == 0;
}

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-52;
    case DType::kF32:
      return 0x1p-23;
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
      return 0x1p-3;
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
      return 0x1p-2;
    case DType::kF4E2M1FN:
      return 0x1p-1;
    case DType::kF8E8M0FNU:
      return 1;
    default:
      return 0;
  }
}

std::optional<std::size_t> firstInvalidElement(DType dtype, Bytes data) {
  const auto first = [&](auto valid) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < data.size(); ++i)
      if (!valid(data[i])) return i;
    return std::nullopt;
  };
  switch (dtype) {
    case DType::kBool:
      return first([](std::uint8_t code) { return code <= 1; });
    case DType::kU2:
      return first([](std::uint8_t code) { return code <= 3; });
    case DType::kU4:
    case DType::kF4E2M1FN:
      return first([](std::uint8_t code) { return code <= 15; });
    case DType::kI2:
      return first([](std::uint8_t code) { return code <= 1 || code >= 0xfe; });
    case DType::kI4:
      return first([](std::uint8_t code) { return code <= 7 || code >= 0xf8; });
    default:
      return std::nullopt;
  }
}

}  // namespace kiln::runtime
