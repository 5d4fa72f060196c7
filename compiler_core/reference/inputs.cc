#include "compiler_core/reference/inputs.h"

namespace kiln::reference {
namespace {

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

template <class T, class F>
void fill(HostTensor& tensor, std::uint64_t state, F rule) {
  T* data = tensor.data<T>();
  for (std::int64_t i = 0, n = tensor.elements(); i < n; ++i)
    data[i] = rule(mix(state += 0x9e3779b97f4a7c15u));
}

}  // namespace

HostTensor makeInput(std::string_view name, DType dtype, std::vector<std::int64_t> shape,
                     std::uint64_t seed) {
  std::uint64_t state = 0xcbf29ce484222325u;
  for (char c : name) state = (state ^ static_cast<std::uint8_t>(c)) * 0x100000001b3u;
  state ^= seed;
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  auto real = [](std::uint64_t r) { return static_cast<double>(r >> 40) / 8388608.0 - 1.0; };
  switch (dtype) {
    case DType::kF32:
      fill<float>(tensor, state, [&](std::uint64_t r) { return static_cast<float>(real(r)); });
      break;
    case DType::kF64:
      fill<double>(tensor, state, real);
      break;
    case DType::kI32:
      fill<std::int32_t>(tensor, state, [](std::uint64_t r) { return static_cast<std::int32_t>(r % 8); });
      break;
    case DType::kI64:
      fill<std::int64_t>(tensor, state, [](std::uint64_t r) { return static_cast<std::int64_t>(r % 8); });
      break;
    case DType::kBool:
      fill<std::uint8_t>(tensor, state, [](std::uint64_t r) { return static_cast<std::uint8_t>(r & 1); });
      break;
    default:
      break;
  }
  return tensor;
}

}  // namespace kiln::reference
