// Makes files of parameters for tests, with every field at hand to be wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/runtime/npy/npy.h"
#include "tests/compiler_core/frontend/archive/zip_writer.h"

namespace kiln::testing_support {

// The bytes of these numbers.
template <class T>
std::string bytesOfNumbers(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

// `header` with its length in front, and the data.
inline std::string safetensors(const std::string& header, const std::string& data) {
  return littleEndianText(header.size(), 8) + header + data;
}
// One member of the header.
inline std::string safetensorsEntry(const std::string& name, const std::string& dtype,
                                    const std::string& shape, std::size_t begin, std::size_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

inline std::string npyFile(DType dtype, std::vector<std::int64_t> shape, std::string_view data) {
  const auto file = npy::serialise({dtype, std::move(shape), {data.begin(), data.end()}});
  return {file.begin(), file.end()};
}
inline std::string npyOfFloats(const std::vector<float>& numbers) {
  return npyFile(DType::kF32, {static_cast<std::int64_t>(numbers.size())}, bytesOfNumbers(numbers));
}

struct GgufTensor {
  std::string name;
  std::vector<std::uint64_t> dims;  // the innermost first
  std::uint64_t type = 0;
  std::uint64_t offset = 0;
};
inline std::string ggufText(const std::string& text) {
  return littleEndianText(text.size(), 8) + text;
}
// `keys` are `keyCount` encoded pairs. The data begin at a multiple of 32.
inline std::string gguf(const std::vector<GgufTensor>& tensors, const std::string& data,
                        const std::string& keys = "", std::uint64_t keyCount = 0, std::uint64_t version = 3) {
  std::string out = "GGUF" + littleEndianText(version, 4) + littleEndianText(tensors.size(), 8) +
                    littleEndianText(keyCount, 8) + keys;
  for (const GgufTensor& one : tensors) {
    out += ggufText(one.name) + littleEndianText(one.dims.size(), 4);
    for (const std::uint64_t dim : one.dims) out += littleEndianText(dim, 8);
    out += littleEndianText(one.type, 4) + littleEndianText(one.offset, 8);
  }
  out.resize((out.size() + 31) / 32 * 32);
  return out + data;
}

}  // namespace kiln::testing_support
