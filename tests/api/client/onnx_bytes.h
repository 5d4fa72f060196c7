// ONNX protobuf by hand, for models that no exporter would write.
#pragma once

#include <string>

namespace kiln::testing_support {

inline std::string varint(std::uint64_t value) {
  std::string out;
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  return out + static_cast<char>(value);
}
inline std::string field(int number, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
inline std::string varintField(int number, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(value);
}
// A TensorProto whose data is elsewhere.
inline std::string externalTensor(const std::string& location) {
  return field(8, "w") + field(13, field(1, "location") + field(2, location)) + varintField(14, 1);
}
// A whole model with one such initializer.
inline std::string modelWithExternal(const std::string& location) {
  return varintField(1, 8) + field(7, field(5, externalTensor(location)));
}

}  // namespace kiln::testing_support
