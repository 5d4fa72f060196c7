// Builds small ONNX models in memory for tests: protobuf's wire format, written by hand from the field
// numbers of onnx.proto. Independent of the reader under test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::testing_support {

// The fields of one message, appended in order.
class ProtoMessage {
 public:
  ProtoMessage& varint(int field, std::uint64_t value);
  ProtoMessage& fixed32(int field, float value);
  ProtoMessage& text(int field, std::string_view bytes);
  ProtoMessage& message(int field, const ProtoMessage& nested) { return text(field, nested.bytes_); }
  // Fields that are encoded already.
  ProtoMessage& raw(std::string_view bytes);
  const std::string& bytes() const { return bytes_; }

 private:
  void number(std::uint64_t value);
  std::string bytes_;
};

enum OnnxType : int {
  kOnnxFloat = 1,
  kOnnxUint8 = 2,
  kOnnxInt8 = 3,
  kOnnxInt32 = 6,
  kOnnxInt64 = 7,
  kOnnxString = 8,
  kOnnxBool = 9,
  kOnnxHalf = 10,
  kOnnxDouble = 11,
  kOnnxUint32 = 12,
  kOnnxFloat8 = 17,  // E4M3FN
  kOnnxUint4 = 21,
  kOnnxInt4 = 22,
  kOnnxUint2 = 25,
  kOnnxInt2 = 26
};

// TensorProtos; `name` may be empty. The payload is raw_data.
ProtoMessage onnxTensor(std::string_view name, const std::vector<std::int64_t>& dims,
                        const std::vector<float>& values);
ProtoMessage onnxTensor(std::string_view name, const std::vector<std::int64_t>& dims,
                        const std::vector<std::int64_t>& values);
// With the payload in another file.
ProtoMessage onnxExternalTensor(std::string_view name, const std::vector<std::int64_t>& dims,
                                std::string_view location, std::int64_t offset, std::int64_t length);

// AttributeProtos.
ProtoMessage onnxInt(std::string_view name, std::int64_t value);
ProtoMessage onnxInts(std::string_view name, const std::vector<std::int64_t>& values);
ProtoMessage onnxReal(std::string_view name, float value);
ProtoMessage onnxText(std::string_view name, std::string_view value);
ProtoMessage onnxTensorAttribute(std::string_view name, const ProtoMessage& tensor);
ProtoMessage onnxTexts(std::string_view name, const std::vector<std::string>& values);
ProtoMessage onnxReals(std::string_view name, const std::vector<float>& values);
class OnnxBuilder;
ProtoMessage onnxGraph(std::string_view name, const OnnxBuilder& graph);
// Inside a function: the call's attribute `reference`, of AttributeType `type`.
ProtoMessage onnxReference(std::string_view name, std::string_view reference, int type);

// A dimension of an input: a number or a name; neither for "".
struct OnnxDim {
  OnnxDim(int value) : value(value) {}
  OnnxDim(std::int64_t value) : value(value) {}
  OnnxDim(const char* name) : name(name) {}
  std::optional<std::int64_t> value;
  std::string name;
};

class OnnxBuilder {
 public:
  explicit OnnxBuilder(std::int64_t opset = 17) : opset_(opset) {}

  OnnxBuilder& input(std::string_view name, const std::vector<OnnxDim>& dims, int type = kOnnxFloat);
  OnnxBuilder& output(std::string_view name, int type = kOnnxFloat);
  OnnxBuilder& initializer(const ProtoMessage& tensor);
  // A sparse tensor of no value and no shape.
  OnnxBuilder& sparseInitializer(std::string_view name);
  OnnxBuilder& node(std::string_view op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::vector<ProtoMessage>& attributes = {},
                    std::string_view name = "", std::string_view domain = "");
  // An input that is a sequence of floats, its elements of these dimensions.
  OnnxBuilder& sequenceInput(std::string_view name, const std::vector<OnnxDim>& dims);
  OnnxBuilder& function(const class OnnxFunction& function);
  // Another operator set beside ONNX's own.
  OnnxBuilder& importDomain(std::string_view domain, std::int64_t version);
  // The model file's bytes.
  std::string build() const;
  // The GraphProto alone.
  const ProtoMessage& graph() const { return graph_; }

 private:
  std::int64_t opset_;
  ProtoMessage graph_, imports_;
};

// A FunctionProto.
class OnnxFunction {
 public:
  OnnxFunction(std::string_view domain, std::string_view name, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs, std::int64_t opset = 17);
  OnnxFunction& node(std::string_view op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs,
                     const std::vector<ProtoMessage>& attributes = {}, std::string_view name = "",
                     std::string_view domain = "");
  OnnxFunction& attribute(std::string_view name);
  OnnxFunction& defaultAttribute(const ProtoMessage& attribute);
  OnnxFunction& importDomain(std::string_view domain, std::int64_t version);
  const ProtoMessage& message() const { return function_; }

 private:
  ProtoMessage function_;
};

}  // namespace kiln::testing_support
