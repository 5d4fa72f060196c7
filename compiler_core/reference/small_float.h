// f16 and bf16 as C++ types. No MLIR.
#pragma once

#include "manifest/artifact/small_float.h"

namespace kiln::reference {

// An element of f16 or bf16 for templates over element types: calculates as float, rounds once on the way
// back.
template <DType type>
struct SmallFloat {
  std::uint16_t bits = 0;

  SmallFloat() = default;
  explicit SmallFloat(double value)
      : bits(static_cast<std::uint16_t>(encodeFloat(*floatFormat(type), value, true))) {}
  operator float() const {
    return static_cast<float>(decodeFloat(*floatFormat(type), bits));
  }  // NOLINT: widening
};
using Float16 = SmallFloat<DType::kF16>;
using BFloat16 = SmallFloat<DType::kBF16>;

}  // namespace kiln::reference
