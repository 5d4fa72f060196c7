// ONNX protobuf by hand, for models that no exporter would write.
#pragma once

#include <string>
#include <vector>

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
// A ValueInfoProto of floats; a dimension that is no number is a name.
inline std::string floatInput(const std::string& name, const std::vector<std::string>& dims) {
  std::string shape;
  for (const std::string& dim : dims)
    shape += field(1, dim.find_first_not_of("0123456789") == dim.npos && !dim.empty()
                          ? varintField(1, std::stoull(dim))
                          : field(2, dim));
  return field(1, name) + field(2, field(1, varintField(1, 1) + field(2, shape)));
}
// A whole model without nodes: its output is its input.
inline std::string emptyModel() {
  return varintField(1, 8) +
         field(7, field(2, "g") + field(11, floatInput("x", {"1"})) + field(12, floatInput("x", {"1"})));
}
// A whole model whose output is such an initializer.
inline std::string modelWithExternal(const std::string& location) {
  return varintField(1, 8) + field(7, field(5, externalTensor(location)) + field(12, floatInput("w", {"1"})));
}

}  // namespace kiln::testing_support
