#include "manifest/artifact/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln {
namespace {

using Special = FloatFormat::Special;

constexpr FloatFormat kF16{5, 10, 15, Special::kIeee}, kBF16{8, 7, 127, Special::kIeee},
    kE4M3FN{4, 3, 7, Special::kNanAtTop}, kE4M3FNUZ{4, 3, 8, Special::kUnsignedZero},
    kE5M2{5, 2, 15, Special::kIeee}, kE5M2FNUZ{5, 2, 16, Special::kUnsignedZero},
    kE8M0FNU{8, 0, 127, Special::kPowersOfTwo}, kE2M1FN{2, 1, 1, Special::kFinite};

// Without the sign.
struct Codes {
  std::uint32_t sign, largest, nan;
};
Codes codesOf(const FloatFormat& format) {
  const std::uint32_t sign = 1u << (format.exponentBits + format.mantissaBits);
  switch (format.special) {
    case Special::kIeee: {
      const std::uint32_t infinity = sign - (1u << format.mantissaBits);
      return {sign, infinity - 1, infinity | 1u << (format.mantissaBits - 1)};
    }
    case Special::kNanAtTop:
      return {sign, sign - 2, sign - 1};
    case Special::kUnsignedZero:
      return {sign, sign - 1, sign};
    case Special::kFinite:
      return {sign, sign - 1, 0};
    case Special::kPowersOfTwo:
      return {0, 254, 255};
  }
  return {};
}

std::uint32_t encodePower(double value, bool overflow, FloatRounding rounding) {
  if (!std::isfinite(value)) return 255;
  value = std::fabs(value);
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent) * 2;  // [1, 2)
  int code = exponent - 1 + 127;
  if (code < 0) return 0;  // 2^-127 is the least
  code +=
      rounding == FloatRounding::kUp ? fraction > 1 : rounding == FloatRounding::kNearest && fraction >= 1.5;
  return code <= 254 ? static_cast<std::uint32_t>(code) : overflow ? 255 : 254;
}

}  // namespace

const FloatFormat* floatFormat(DType type) {
  switch (type) {
    case DType::kF16:
      return &kF16;
    case DType::kBF16:
      return &kBF16;
    case DType::kF8E4M3FN:
      return &kE4M3FN;
    case DType::kF8E4M3FNUZ:
      return &kE4M3FNUZ;
    case DType::kF8E5M2:
      return &kE5M2;
    case DType::kF8E5M2FNUZ:
      return &kE5M2FNUZ;
    case DType::kF8E8M0FNU:
      return &kE8M0FNU;
    case DType::kF4E2M1FN:
      return &kE2M1FN;
    default:
      return nullptr;
  }
}

double decodeFloat(const FloatFormat& format, std::uint32_t code) {
  const Codes codes = codesOf(format);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (format.special == Special::kPowersOfTwo)
    return code == codes.nan ? kNan : std::ldexp(1.0, static_cast<int>(code) - 127);
  if (format.special == Special::kUnsignedZero && code == codes.nan) return kNan;
  const std::uint32_t magnitude = code & (codes.sign - 1), one = 1u << format.mantissaBits;
  double value = 0;
  if (magnitude > codes.largest) {
    const bool infinite = format.special == Special::kIeee && magnitude == codes.largest + 1;
    value = infinite ? std::numeric_limits<double>::infinity() : kNan;
  } else {
    const std::uint32_t exponent = magnitude >> format.mantissaBits, mantissa = magnitude & (one - 1);
    const int scale = 1 - format.bias - format.mantissaBits;
    value = exponent == 0 ? std::ldexp(mantissa, scale)
                          : std::ldexp(mantissa + one, scale + static_cast<int>(exponent) - 1);
  }
  return code & codes.sign ? -value : value;
}

std::uint32_t encodeFloat(const FloatFormat& format, double value, bool overflow, FloatRounding rounding) {
  if (format.special == Special::kPowersOfTwo) return encodePower(value, overflow, rounding);
  const Codes codes = codesOf(format);
  const bool unsignedZero = format.special == Special::kUnsignedZero;
  const std::uint32_t sign = std::signbit(value) ? codes.sign : 0;
  if (std::isnan(value))
    return format.special == Special::kFinite ? 0 : unsignedZero ? codes.nan : sign | codes.nan;
  std::uint32_t code = codes.largest + 1;
  if (std::isfinite(value) && value != 0) {
    int exponent = 0;
    (void)std::frexp(value, &exponent);
    exponent = std::max(exponent - 1, 1 - format.bias);
    // Steps of the format's resolution at this size; an even count wins a tie.
    const double steps = std::nearbyint(std::ldexp(std::fabs(value), format.mantissaBits - exponent));
    if (exponent + format.bias < 1 << format.exponentBits)
      code = static_cast<std::uint32_t>((exponent + format.bias - 1) << format.mantissaBits) +
             static_cast<std::uint32_t>(steps);
  } else if (value == 0) {
    code = 0;
  }
  if (code == 0) return unsignedZero ? 0 : sign;
  if (code <= codes.largest) return sign | code;
  if (format.special == Special::kFinite || (!overflow && format.mantissaBits + format.exponentBits < 15))
    return sign | codes.largest;
  return unsignedZero ? codes.nan : sign | (codes.largest + 1);
}

}  // namespace kiln
