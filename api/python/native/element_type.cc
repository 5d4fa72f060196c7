#include "api/python/native/element_type.h"

#include <algorithm>
#include <iterator>

namespace kiln::python {
namespace {

constexpr struct {
  DType dtype;
  const char* format;
  dlpack::DataType type;  // without lanes: DLPack has none
} kTypes[] = {
    {DType::kF32, "f", {dlpack::kFloat, 32, 1}},
    {DType::kF64, "d", {dlpack::kFloat, 64, 1}},
    {DType::kF16, "e", {dlpack::kFloat, 16, 1}},
    {DType::kBF16, "2x", {dlpack::kBfloat, 16, 1}},
    {DType::kI8, "b", {dlpack::kInt, 8, 1}},
    {DType::kI16, "h", {dlpack::kInt, 16, 1}},
    {DType::kI32, "i", {dlpack::kInt, 32, 1}},
    {DType::kI64, "q", {dlpack::kInt, 64, 1}},
    {DType::kU8, "B", {dlpack::kUInt, 8, 1}},
    {DType::kU16, "H", {dlpack::kUInt, 16, 1}},
    {DType::kU32, "I", {dlpack::kUInt, 32, 1}},
    {DType::kU64, "Q", {dlpack::kUInt, 64, 1}},
    {DType::kBool, "?", {dlpack::kBool, 8, 1}},
    {DType::kF8E4M3FN, "1x", {dlpack::kFloat8E4M3FN, 8, 1}},
    {DType::kF8E4M3FNUZ, "1x", {dlpack::kFloat8E4M3FNUZ, 8, 1}},
    {DType::kF8E5M2, "1x", {dlpack::kFloat8E5M2, 8, 1}},
    {DType::kF8E5M2FNUZ, "1x", {dlpack::kFloat8E5M2FNUZ, 8, 1}},
    {DType::kF8E8M0FNU, "1x", {dlpack::kFloat8E8M0FNU, 8, 1}},
    {DType::kF4E2M1FN, "1x", {}},
    {DType::kI4, "b", {}},
    {DType::kU4, "B", {}},
    {DType::kI2, "b", {}},
    {DType::kU2, "B", {}},
};

const auto& rowOf(DType dtype) {
  return *std::ranges::find(kTypes, dtype, [](const auto& row) { return row.dtype; });
}

// Without the byte order; C's long is one of the other integers.
std::string_view plain(std::string_view format) {
  if (!format.empty() && std::string_view("@=<>!").find(format[0]) != std::string_view::npos)
    format.remove_prefix(1);
  if (format == "l") return "q";
  if (format == "L") return "Q";
  if (format == "x") return "1x";
  return format;
}

}  // namespace

const char* formatOf(DType dtype) {
  return rowOf(dtype).format;
}

std::optional<dlpack::DataType> dlpackOf(DType dtype) {
  const dlpack::DataType type = rowOf(dtype).type;
  return type.lanes != 0 ? std::optional(type) : std::nullopt;
}

bool fits(std::string_view format, std::size_t bytes, DType dtype) {
  const std::string_view given = plain(format);
  if (bytes != dtypeBytes(dtype)) return false;
  if (given == rowOf(dtype).format) return true;
  // "<l" and "<L" of NumPy are of four bytes where a standard size is asked for.
  return (given == "q" && dtype == DType::kI32) || (given == "Q" && dtype == DType::kU32);
}

std::string_view nameOf(std::string_view format) {
  const std::string_view given = plain(format);
  const auto row = std::ranges::find(kTypes, given, [](const auto& row) { return row.format; });
  return row != std::end(kTypes) && !given.ends_with('x') ? dtypeName(row->dtype) : format;
}

std::string_view nameOf(const dlpack::DataType& type) {
  const auto row = std::ranges::find_if(kTypes, [&](const auto& row) {
    return row.type.code == type.code && row.type.bits == type.bits && row.type.lanes == type.lanes;
  });
  return row != std::end(kTypes) ? dtypeName(row->dtype) : "a type that Kiln has no name for";
}

bool isSwapped(std::string_view format, std::size_t bytes) {
  return bytes > 1 && (format.starts_with('>') || format.starts_with('!'));
}

}  // namespace kiln::python
