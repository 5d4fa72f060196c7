// Element types of tensors, shared by the manifest, the compiler and the runtime. Kept apart from manifest.h
// so that MLIR units, which are compiled without exceptions, need not include the JSON library.
#pragma once

#include <cstddef>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln {

// Types narrower than a byte take one byte per element in memory: i4 and i2 with their sign extended, the
// others as their code in the low bits. The 8-bit and 4-bit floats are those of the OCP formats, named after
// ONNX and MLIR.
enum class DType {
  kF32,
  kF64,
  kF16,
  kBF16,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kBool,
  kF8E4M3FN,
  kF8E4M3FNUZ,
  kF8E5M2,
  kF8E5M2FNUZ,
  kF8E8M0FNU,
  kF4E2M1FN,
  kI4,
  kU4,
  kI2,
  kU2
};
std::string_view dtypeName(DType type);  // "f32", "i64", "bool"
Result<DType> parseDType(std::string_view name);
std::size_t dtypeBytes(DType type);

}  // namespace kiln
