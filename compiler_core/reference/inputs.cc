#include "compiler_core/reference/inputs.h"

#include <cmath>

#include "compiler_core/reference/element.h"

namespace kiln::reference {
namespace {

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

// Element from 64 random bits.
Element element(DType dtype, std::uint64_t r) {
  auto real = [](double value) { return Element{false, true, 0, value}; };
  auto whole = [&](std::uint64_t range) { return Element{true, false, r % range, 0}; };
  switch (dtype) {
    case DType::kF32:
    case DType::kF64:
      return real(static_cast<double>(r >> 40) / 8388608.0 - 1.0);
    case DType::kF16:
    case DType::kBF16:
      return real(static_cast<double>(r >> 56) / 128.0 - 1.0);
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
      return real(static_cast<double>(r >> 60) / 8.0 - 1.0);
    case DType::kF8E8M0FNU:
      return real(std::ldexp(1.0, static_cast<int>(r % 8) - 4));
    case DType::kF4E2M1FN:
      return real(static_cast<double>(r % 4) / 2.0);
    case DType::kU2:
      return whole(4);
    case DType::kI2:
    case DType::kBool:
      return whole(2);
    default:
      return whole(8);
  }
}

}  // namespace

HostTensor makeInput(std::string_view name, DType dtype, std::vector<std::int64_t> shape,
                     std::uint64_t seed) {
  std::uint64_t state = 0xcbf29ce484222325u;
  for (char c : name) state = (state ^ static_cast<std::uint8_t>(c)) * 0x100000001b3u;
  state ^= seed;
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  const std::size_t width = dtypeBytes(dtype);
  for (std::size_t at = 0; at < tensor.bytes.size(); at += width)
    writeElement(dtype, tensor.bytes.data() + at, element(dtype, mix(state += 0x9e3779b97f4a7c15u)));
  return tensor;
}

}  // namespace kiln::reference
