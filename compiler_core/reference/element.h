// One element of any type, read exactly and written with the conversions of kiln.cast. No MLIR.
#pragma once

#include "manifest/artifact/small_float.h"

namespace kiln::reference {

struct Element {
  bool isInteger = false, isSigned = true;
  std::uint64_t bits = 0;  // of an integer, extended to 64 bits by its sign
  double real = 0;         // of a float
};

struct CastRules {
  bool overflow = false;
  FloatRounding rounding = FloatRounding::kNearest;
};

// `at` holds dtypeBytes(type) bytes and may be unaligned. Signed types below a byte are read from their low
// bits.
Element readElement(DType type, const std::uint8_t* at);
void writeElement(DType type, std::uint8_t* at, const Element& value, const CastRules& rules = {});

// The low `width` bits of a byte, the rest filled as the element types below a byte have it.
inline std::uint8_t narrowByte(std::uint8_t byte, unsigned width, bool isSigned) {
  const std::uint8_t low = static_cast<std::uint8_t>(byte & ((1u << width) - 1));
  const bool negative = isSigned && (low >> (width - 1)) != 0;
  return negative ? static_cast<std::uint8_t>(low | (0xffu << width)) : low;
}

// The 64-bit integer as a double that rounds to fewer bits as the integer would: inexact ones become odd.
double roundToOdd(std::uint64_t bits, bool isSigned);

// The element as a double, integers rounded to it.
double toDouble(const Element& value);

}  // namespace kiln::reference
