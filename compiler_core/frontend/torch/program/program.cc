#include "compiler_core/frontend/torch/program/program.h"

#include <algorithm>
#include <array>

namespace kiln::torch {
namespace {

struct Row {
  ScalarType type;
  std::string_view name;
  std::optional<DType> dtype;
};
constexpr std::array<Row, 22> kRows = {{
    {0, "unknown", {}},
    {1, "uint8", DType::kU8},
    {2, "int8", DType::kI8},
    {3, "int16", DType::kI16},
    {4, "int32", DType::kI32},
    {5, "int64", DType::kI64},
    {6, "float16", DType::kF16},
    {7, "float32", DType::kF32},
    {8, "float64", DType::kF64},
    {9, "complex32", {}},
    {10, "complex64", {}},
    {11, "complex128", {}},
    {12, "bool", DType::kBool},
    {13, "bfloat16", DType::kBF16},
    {28, "uint16", DType::kU16},
    {29, "float8_e4m3fn", DType::kF8E4M3FN},
    {30, "float8_e5m2", DType::kF8E5M2},
    {31, "float8_e4m3fnuz", DType::kF8E4M3FNUZ},
    {32, "float8_e5m2fnuz", DType::kF8E5M2FNUZ},
    {33, "float8_e8m0fnu", DType::kF8E8M0FNU},
    {34, "uint32", DType::kU32},
    {35, "uint64", DType::kU64},
}};

}  // namespace

std::optional<DType> dtypeOf(ScalarType type) {
  const auto* row = std::ranges::find(kRows, type, &Row::type);
  return row == kRows.end() ? std::nullopt : row->dtype;
}

std::string scalarTypeName(ScalarType type) {
  const auto* row = std::ranges::find(kRows, type, &Row::type);
  return row == kRows.end() ? "type " + std::to_string(type) : std::string(row->name);
}

}  // namespace kiln::torch
