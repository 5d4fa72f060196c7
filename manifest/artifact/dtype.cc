#include "manifest/artifact/dtype.h"

#include <array>

namespace kiln {
namespace {

struct Row {
  DType type;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<Row, 23> kRows{{{DType::kF32, "f32", 4},
                                     {DType::kF64, "f64", 8},
                                     {DType::kF16, "f16", 2},
                                     {DType::kBF16, "bf16", 2},
                                     {DType::kI8, "i8", 1},
                                     {DType::kI16, "i16", 2},
                                     {DType::kI32, "i32", 4},
                                     {DType::kI64, "i64", 8},
                                     {DType::kU8, "u8", 1},
                                     {DType::kU16, "u16", 2},
                                     {DType::kU32, "u32", 4},
                                     {DType::kU64, "u64", 8},
                                     {DType::kBool, "bool", 1},
                                     {DType::kF8E4M3FN, "f8e4m3fn", 1},
                                     {DType::kF8E4M3FNUZ, "f8e4m3fnuz", 1},
                                     {DType::kF8E5M2, "f8e5m2", 1},
                                     {DType::kF8E5M2FNUZ, "f8e5m2fnuz", 1},
                                     {DType::kF8E8M0FNU, "f8e8m0fnu", 1},
                                     {DType::kF4E2M1FN, "f4e2m1fn", 1},
                                     {DType::kI4, "i4", 1},
                                     {DType::kU4, "u4", 1},
                                     {DType::kI2, "i2", 1},
                                     {DType::kU2, "u2", 1}}};

}  // namespace

std::string_view dtypeName(DType type) {
  for (const Row& row : kRows)
    if (row.type == type) return row.name;
  return "unknown";
}

Result<DType> parseDType(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.type;
  return fail(Code::kInvalidArgument, "'" + std::string(name) +
                                          "' is no element type; known are f32, f64, f16, bf16, "
                                          "i8, i16, i32, i64, u8, u16, u32, u64, bool, f8e4m3fn, f8e4m3fnuz, "
                                          "f8e5m2, f8e5m2fnuz, f8e8m0fnu, f4e2m1fn, i4, u4, i2, u2");
}

std::size_t dtypeBytes(DType type) {
  for (const Row& row : kRows)
    if (row.type == type) return row.bytes;
  return 0;
}

}  // namespace kiln
