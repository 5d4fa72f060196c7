#include "compiler_core/runtime/element/element.h"

#include <cstring>

#include "manifest/artifact/small_float.h"

namespace kiln::runtime {
namespace {

template <class T>
T load(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

long double elementValue(DType dtype, const std::uint8_t* at) {
  switch (dtype) {
    case DType::kF32:
      return load<float>(at);
    case DType::kF64:
      return load<double>(at);
    case DType::kF16:
    case DType::kBF16:
      return decodeFloat(*floatFormat(dtype), load<std::uint16_t>(at));
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0FNU:
    case DType::kF4E2M1FN:
      return decodeFloat(*floatFormat(dtype), *at);
    case DType::kI8:
    case DType::kI4:
    case DType::kI2:
      return load<std::int8_t>(at);
    case DType::kI16:
      return load<std::int16_t>(at);
    case DType::kI32:
      return load<std::int32_t>(at);
    case DType::kI64:
      return load<std::int64_t>(at);
    case DType::kU8:
    case DType::kBool:
    case DType::kU4:
    case DType::kU2:
      return *at;
    case DType::kU16:
      return load<std::uint16_t>(at);
    case DType::kU32:
      return load<std::uint32_t>(at);
    case DType::kU64:
      return load<std::uint64_t>(at);
  }
  return 0;
}

bool holdsIntegers(DType dtype) {
  return epsilon(dtype) == 0;
}

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-52;
    case DType::kF32:
      return 0x1p-23;
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
      return 0x1p-3;
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
      return 0x1p-2;
    case DType::kF4E2M1FN:
      return 0x1p-1;
    case DType::kF8E8M0FNU:
      return 1;
    default:
      return 0;
  }
}

std::optional<std::size_t> firstInvalidElement(DType dtype, Bytes data) {
  const auto first = [&](auto valid) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < data.size(); ++i)
      if (!valid(data[i])) return i;
    return std::nullopt;
  };
  switch (dtype) {
    case DType::kBool:
      return first([](std::uint8_t code) { return code <= 1; });
    case DType::kU2:
      return first([](std::uint8_t code) { return code <= 3; });
    case DType::kU4:
    case DType::kF4E2M1FN:
      return first([](std::uint8_t code) { return code <= 15; });
    case DType::kI2:
      return first([](std::uint8_t code) { return code <= 1 || code >= 0xfe; });
    case DType::kI4:
      return first([](std::uint8_t code) { return code <= 7 || code >= 0xf8; });
    default:
      return std::nullopt;
  }
}

}  // namespace kiln::runtime
