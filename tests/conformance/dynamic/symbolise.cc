#include "tests/conformance/dynamic/symbolise.h"

#include <functional>

#include "manifest/spec/onnx_wire.h"
#include "tests/support/onnx_builder.h"

namespace kiln::conformance {
namespace {

using onnx::WireField;
using onnx::WireType;
using testing_support::ProtoMessage;

std::string_view textOf(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What takes the place of a field's bytes.
using Edit = std::function<Result<ProtoMessage>(Bytes)>;

// The message with each field `number` edited.
Result<ProtoMessage> editFields(Bytes message, std::uint32_t number, const Edit& edit) {
  ProtoMessage result;
  for (onnx::WireReader wire(message, message.data()); !wire.atEnd();) {
    KILN_ASSIGN(const WireField field, wire.field());
    const int place = static_cast<int>(field.number);
    if (field.type == WireType::kVarint) {
      result.varint(place, field.value);
    } else if (field.type != WireType::kBytes) {
      return fail(Code::kInvalidArgument, "a field of fixed size, which these messages do not have");
    } else if (field.number == number) {
      KILN_ASSIGN(const ProtoMessage edited, edit(field.bytes));
      result.message(place, edited);
    } else {
      result.text(place, textOf(field.bytes));
    }
  }
  return result;
}

}  // namespace

// Field numbers are of onnx.proto: ModelProto.graph 7, GraphProto.input 11, ValueInfoProto.name 1 and type 2,
// TypeProto.tensor_type 1, its shape 2, the shape's dim 1, the dim's dim_param 2.
Result<std::string> symbolise(Bytes model, const SymbolNames& names) {
  const auto input = [&](Bytes info) -> Result<ProtoMessage> {
    std::string name;
    for (onnx::WireReader wire(info, info.data()); !wire.atEnd();) {
      KILN_ASSIGN(const WireField field, wire.field());
      if (field.number == 1) name = textOf(field.bytes);
    }
    const auto mine = names.find(name);
    if (mine == names.end()) return ProtoMessage().raw(textOf(info));
    std::size_t axis = 0;
    const auto dim = [&](Bytes old) -> Result<ProtoMessage> {
      const auto symbol = mine->second.find(axis++);
      if (symbol == mine->second.end()) return ProtoMessage().raw(textOf(old));
      return ProtoMessage().text(2, symbol->second);
    };
    const auto shape = [&](Bytes old) { return editFields(old, 1, dim); };
    const auto tensor = [&](Bytes old) { return editFields(old, 2, shape); };
    const auto type = [&](Bytes old) { return editFields(old, 1, tensor); };
    return editFields(info, 2, type);
  };
  const auto graph = [&](Bytes old) { return editFields(old, 11, input); };
  KILN_ASSIGN(const ProtoMessage edited, editFields(model, 7, graph));
  return edited.bytes();
}

}  // namespace kiln::conformance
