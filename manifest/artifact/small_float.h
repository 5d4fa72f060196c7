// Floats narrower than 32 bits: what their codes mean, and rounding to them.
#pragma once

#include <cstdint>

#include "manifest/artifact/dtype.h"

namespace kiln {

// Sign, exponent and mantissa from the top bit down, as IEEE 754 has them; formats differ in what the top
// codes and the code of -0 mean.
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
const FloatFormat* floatFormat(DType type);

// The value of a code; exact.
double decodeFloat(const FloatFormat& format, std::uint32_t code);

enum class FloatRounding { kNearest, kUp, kDown };

// The code nearest to `value`, ties to even. A value out of range becomes the largest finite one, or with
// `overflow` what the format has beyond it. 16-bit floats always overflow, kFinite never does. NaN keeps its
// sign where it can; kFinite has none and gives 0. `rounding` and the magnitude alone count for kPowersOfTwo
// (nearest: ties away from 0).
std::uint32_t encodeFloat(const FloatFormat& format, double value, bool overflow,
                          FloatRounding rounding = FloatRounding::kNearest);

}  // namespace kiln
