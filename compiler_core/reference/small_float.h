// Floats narrower than 32 bits: what their codes mean, and rounding to them. No MLIR.
#pragma once

#include <cstdint>
#include <optional>

#include "manifest/artifact/dtype.h"

namespace kiln::reference {

// Sign, exponent and mantissa from the top bit down, as IEEE 754 has them; formats differ in what the top codes
// and the code of -0 mean.
struct FloatFormat {
  enum class Special {
    kIeee,          // the largest exponent is infinity and NaN
    kNanAtTop,      // one code per sign, all ones, is NaN; no infinity
    kUnsignedZero,  // the code of -0 is NaN, the only one; no infinity
    kFinite,        // numbers only
    kPowersOfTwo    // an exponent alone, no sign, no zero; all ones is NaN
  };
  int exponentBits, mantissaBits, bias;
  Special special;
};

// Null for all other types.
const FloatFormat* formatOf(DType type);

// The value of a code; exact.
double decode(const FloatFormat& format, std::uint32_t code);

enum class Rounding { kNearest, kUp, kDown };

// The code nearest to `value`, ties to even. A value out of range becomes the largest finite one, or with
// `overflow` what the format has beyond it. 16-bit floats always overflow, kFinite never does. NaN keeps its sign
// where it can; kFinite has none and gives 0. `rounding` and the magnitude alone count for kPowersOfTwo (nearest:
// ties away from 0).
std::uint32_t encode(const FloatFormat& format, double value, bool overflow,
                     Rounding rounding = Rounding::kNearest);

// The 64-bit integer as a double that rounds to fewer bits as the integer would: inexact ones become odd.
double roundToOdd(std::uint64_t bits, bool isSigned);

// An element of f16 or bf16 for templates over element types: calculates as float, rounds once on the way back.
template <DType type>
struct SmallFloat {
  std::uint16_t bits = 0;

  SmallFloat() = default;
  explicit SmallFloat(double value)
      : bits(static_cast<std::uint16_t>(encode(*formatOf(type), value, true))) {}
  operator float() const { return static_cast<float>(decode(*formatOf(type), bits)); }  // NOLINT: widening
};
using Float16 = SmallFloat<DType::kF16>;
using BFloat16 = SmallFloat<DType::kBF16>;

}  // namespace kiln::reference
