#include "tests/support/onnx_builder.h"

#include <bit>
#include <cstring>

namespace kiln::testing_support {
namespace {

template <class T>
ProtoMessage tensorOf(std::string_view name, int type, const std::vector<std::int64_t>& dims,
                      const std::vector<T>& values) {
  ProtoMessage tensor;
  for (std::int64_t dim : dims) tensor.varint(1, static_cast<std::uint64_t>(dim));
  tensor.varint(2, static_cast<std::uint64_t>(type)).text(8, name);
  tensor.text(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  return tensor;
}

ProtoMessage nodeOf(std::string_view op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::vector<ProtoMessage>& attributes,
                    std::string_view name, std::string_view domain) {
  ProtoMessage node;
  for (const std::string& input : inputs) node.text(1, input);
  for (const std::string& output : outputs) node.text(2, output);
  if (!name.empty()) node.text(3, name);
  node.text(4, op);
  for (const ProtoMessage& attribute : attributes) node.message(5, attribute);
  if (!domain.empty()) node.text(7, domain);
  return node;
}

ProtoMessage opset(std::string_view domain, std::int64_t version) {
  return ProtoMessage().text(1, domain).varint(2, static_cast<std::uint64_t>(version));
}

// A TypeProto.
ProtoMessage tensorType(int type, const std::vector<OnnxDim>* dims) {
  ProtoMessage tensor;
  tensor.varint(1, static_cast<std::uint64_t>(type));
  if (dims) {
    ProtoMessage shape;
    for (const OnnxDim& dim : *dims) {
      ProtoMessage entry;
      if (!dim.name.empty())
        entry.text(2, dim.name);
      else if (dim.value)
        entry.varint(1, static_cast<std::uint64_t>(*dim.value));
      shape.message(1, entry);
    }
    tensor.message(2, shape);
  }
  return ProtoMessage().message(1, tensor);
}

ProtoMessage valueInfo(std::string_view name, const ProtoMessage& type) {
  return ProtoMessage().text(1, name).message(2, type);
}

}  // namespace

void ProtoMessage::number(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
  bytes_.push_back(static_cast<char>(value));
}

ProtoMessage& ProtoMessage::varint(int field, std::uint64_t value) {
  number(static_cast<std::uint64_t>(field) << 3);
  number(value);
  return *this;
}

ProtoMessage& ProtoMessage::fixed32(int field, float value) {
  number(static_cast<std::uint64_t>(field) << 3 | 5);
  auto bits = std::bit_cast<std::uint32_t>(value);
  for (int i = 0; i < 4; ++i) bytes_.push_back(static_cast<char>(bits >> (8 * i)));
  return *this;
}

ProtoMessage& ProtoMessage::text(int field, std::string_view bytes) {
  number(static_cast<std::uint64_t>(field) << 3 | 2);
  number(bytes.size());
  bytes_ += bytes;
  return *this;
}

ProtoMessage& ProtoMessage::raw(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

ProtoMessage onnxTensor(std::string_view name, const std::vector<std::int64_t>& dims,
                        const std::vector<float>& values) {
  return tensorOf(name, kOnnxFloat, dims, values);
}

ProtoMessage onnxTensor(std::string_view name, const std::vector<std::int64_t>& dims,
                        const std::vector<std::int64_t>& values) {
  return tensorOf(name, kOnnxInt64, dims, values);
}

ProtoMessage onnxExternalTensor(std::string_view name, const std::vector<std::int64_t>& dims,
                                std::string_view location, std::int64_t offset, std::int64_t length) {
  ProtoMessage tensor;
  for (std::int64_t dim : dims) tensor.varint(1, static_cast<std::uint64_t>(dim));
  tensor.varint(2, kOnnxFloat).text(8, name);
  auto entry = [&](std::string_view key, std::string_view value) {
    tensor.message(13, ProtoMessage().text(1, key).text(2, value));
  };
  entry("location", location);
  entry("offset", std::to_string(offset));
  entry("length", std::to_string(length));
  tensor.varint(14, 1);
  return tensor;
}

ProtoMessage onnxInt(std::string_view name, std::int64_t value) {
  return ProtoMessage().text(1, name).varint(3, static_cast<std::uint64_t>(value)).varint(20, 2);
}

ProtoMessage onnxInts(std::string_view name, const std::vector<std::int64_t>& values) {
  ProtoMessage attribute;
  attribute.text(1, name);
  for (std::int64_t value : values) attribute.varint(8, static_cast<std::uint64_t>(value));
  return attribute.varint(20, 7);
}

ProtoMessage onnxReal(std::string_view name, float value) {
  return ProtoMessage().text(1, name).fixed32(2, value).varint(20, 1);
}

ProtoMessage onnxText(std::string_view name, std::string_view value) {
  return ProtoMessage().text(1, name).text(4, value).varint(20, 3);
}

ProtoMessage onnxTensorAttribute(std::string_view name, const ProtoMessage& tensor) {
  return ProtoMessage().text(1, name).message(5, tensor).varint(20, 4);
}

ProtoMessage onnxTexts(std::string_view name, const std::vector<std::string>& values) {
  ProtoMessage attribute;
  attribute.text(1, name);
  for (const std::string& value : values) attribute.text(9, value);
  return attribute.varint(20, 8);
}

ProtoMessage onnxReals(std::string_view name, const std::vector<float>& values) {
  ProtoMessage attribute;
  attribute.text(1, name);
  for (float value : values) attribute.fixed32(7, value);
  return attribute.varint(20, 6);
}

ProtoMessage onnxGraph(std::string_view name, const OnnxBuilder& graph) {
  return ProtoMessage().text(1, name).message(6, graph.graph()).varint(20, 5);
}

ProtoMessage onnxReference(std::string_view name, std::string_view reference, int type) {
  return ProtoMessage().text(1, name).text(21, reference).varint(20, static_cast<std::uint64_t>(type));
}

OnnxBuilder& OnnxBuilder::input(std::string_view name, const std::vector<OnnxDim>& dims, int type) {
  graph_.message(11, valueInfo(name, tensorType(type, &dims)));
  return *this;
}

OnnxBuilder& OnnxBuilder::output(std::string_view name, int type) {
  graph_.message(12, valueInfo(name, tensorType(type, nullptr)));
  return *this;
}

OnnxBuilder& OnnxBuilder::initializer(const ProtoMessage& tensor) {
  graph_.message(5, tensor);
  return *this;
}

OnnxBuilder& OnnxBuilder::sparseInitializer(std::string_view name) {
  graph_.message(15, ProtoMessage().message(1, ProtoMessage().text(8, name)));
  return *this;
}

OnnxBuilder& OnnxBuilder::node(std::string_view op, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs,
                               const std::vector<ProtoMessage>& attributes, std::string_view name,
                               std::string_view domain) {
  graph_.message(1, nodeOf(op, inputs, outputs, attributes, name, domain));
  return *this;
}

OnnxBuilder& OnnxBuilder::importDomain(std::string_view domain, std::int64_t version) {
  imports_.message(8, opset(domain, version));
  return *this;
}

std::string OnnxBuilder::build() const {
  ProtoMessage model;
  model.varint(1, 8).text(2, "kiln-test").message(7, graph_);
  model.message(8, opset("", opset_));
  return model.bytes() + imports_.bytes();
}

OnnxBuilder& OnnxBuilder::sequenceInput(std::string_view name, const std::vector<OnnxDim>& dims) {
  const ProtoMessage element = ProtoMessage().message(1, tensorType(kOnnxFloat, &dims));
  graph_.message(11, valueInfo(name, ProtoMessage().message(4, element)));
  return *this;
}

OnnxBuilder& OnnxBuilder::function(const OnnxFunction& function) {
  imports_.message(25, function.message());
  return *this;
}

OnnxFunction::OnnxFunction(std::string_view domain, std::string_view name,
                           const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                           std::int64_t version) {
  function_.text(1, name).text(10, domain).message(9, opset("", version));
  for (const std::string& input : inputs) function_.text(4, input);
  for (const std::string& output : outputs) function_.text(5, output);
}

OnnxFunction& OnnxFunction::node(std::string_view op, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs,
                                 const std::vector<ProtoMessage>& attributes, std::string_view name,
                                 std::string_view domain) {
  function_.message(7, nodeOf(op, inputs, outputs, attributes, name, domain));
  return *this;
}

OnnxFunction& OnnxFunction::attribute(std::string_view name) {
  function_.text(6, name);
  return *this;
}

OnnxFunction& OnnxFunction::defaultAttribute(const ProtoMessage& attribute) {
  function_.message(11, attribute);
  return *this;
}

OnnxFunction& OnnxFunction::importDomain(std::string_view domain, std::int64_t version) {
  function_.message(9, opset(domain, version));
  return *this;
}

}  // namespace kiln::testing_support
