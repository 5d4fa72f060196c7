#include "manifest/artifact/manifest.h"

namespace kiln {
namespace {

struct Row {
  DType type;
  std::string_view name;
  std::size_t bytes;
};
constexpr Row kTypes[] = {{DType::kF32, "f32", 4},   {DType::kF64, "f64", 8}, {DType::kF16, "f16", 2},
                          {DType::kBF16, "bf16", 2}, {DType::kI8, "i8", 1},   {DType::kI16, "i16", 2},
                          {DType::kI32, "i32", 4},   {DType::kI64, "i64", 8}, {DType::kU8, "u8", 1},
                          {DType::kU16, "u16", 2},   {DType::kU32, "u32", 4}, {DType::kU64, "u64", 8},
                          {DType::kBool, "bool", 1}};

const Row& rowOf(DType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

}  // namespace

std::string_view dtypeName(DType type) {
  return rowOf(type).name;
}
std::size_t dtypeBytes(DType type) {
  return rowOf(type).bytes;
}

Result<DType> parseDType(std::string_view name) {
  for (const Row& row : kTypes)
    if (row.name == name) return row.type;
  return fail(Code::kInvalidArgument, "unknown element type \"" + std::string(name.substr(0, 40)) + "\"");
}

}  // namespace kiln
