#include <array>

#include "compiler_core/frontend/onnx/reader/model.h"

namespace kiln::onnx {

std::string elementTypeName(std::int32_t type) {
  static constexpr std::array<std::string_view, 27> kNames{
      "undefined",      "float",    "uint8",        "int8",           "uint16",
      "int16",          "int32",    "int64",        "string",         "bool",
      "float16",        "double",   "uint32",       "uint64",         "complex64",
      "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
      "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
      "uint2",          "int2"};
  if (type >= 0 && static_cast<std::size_t>(type) < kNames.size())
    return std::string(kNames[static_cast<std::size_t>(type)]);
  return "type " + std::to_string(type);
}

std::optional<DType> toDType(std::int32_t type) {
  switch (type) {
    case 1:
      return DType::kF32;
    case 2:
      return DType::kU8;
    case 3:
      return DType::kI8;
    case 4:
      return DType::kU16;
    case 5:
      return DType::kI16;
    case 6:
      return DType::kI32;
    case 7:
      return DType::kI64;
    case 9:
      return DType::kBool;
    case 10:
      return DType::kF16;
    case 11:
      return DType::kF64;
    case 12:
      return DType::kU32;
    case 13:
      return DType::kU64;
    case 16:
      return DType::kBF16;
    case 17:
      return DType::kF8E4M3FN;
    case 18:
      return DType::kF8E4M3FNUZ;
    case 19:
      return DType::kF8E5M2;
    case 20:
      return DType::kF8E5M2FNUZ;
    case 21:
      return DType::kU4;
    case 22:
      return DType::kI4;
    case 23:
      return DType::kF4E2M1FN;
    case 24:
      return DType::kF8E8M0FNU;
    case 25:
      return DType::kU2;
    case 26:
      return DType::kI2;
    default:
      return std::nullopt;
  }
}

}  // namespace kiln::onnx
