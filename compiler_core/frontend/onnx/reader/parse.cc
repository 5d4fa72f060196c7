#include "compiler_core/frontend/onnx/reader/parse.h"

#include <bit>
#include <cstring>
#include <limits>

#include "manifest/base/utf8.h"
#include "manifest/spec/onnx_wire.h"

namespace kiln::onnx {
namespace {

// What exporters write for a dimension they know nothing of. It is no name: two of them say nothing about
// each other.
bool namesNothing(std::string_view name) {
  return name == "?" || name == "-1" || name == "None";
}

// Parses messages recursively. Each method reads one message type; `elements` bounds what all of them store.
class Parser {
 public:
  Parser(const std::uint8_t* origin, const ParseLimits& limits) : origin_(origin), limits_(limits) {}

  Result<Model> model(Bytes bytes);
  Result<Tensor> tensor(Bytes bytes);

 private:
  Result<Graph> graph(Bytes bytes);
  Result<Node> node(Bytes bytes);
  // The name of a SparseTensorProto, which is that of its values.
  Result<std::string_view> sparseName(Bytes bytes);
  Result<Attribute> attribute(Bytes bytes);
  Result<ValueInfo> valueInfo(Bytes bytes);
  // A TypeProto inside `containers` others.
  Status type(Bytes bytes, ValueInfo& info);
  Status tensorType(Bytes bytes, ValueInfo& info);
  Status shape(Bytes bytes, ValueInfo& info);
  Status opset(Bytes bytes, Opsets& opsets);
  Result<Function> function(Bytes bytes);
  Status externalEntry(Bytes bytes, Tensor& tensor);
  WireReader reader(Bytes bytes) const { return {bytes, origin_}; }
  Status count(std::size_t elements = 1) {
    if (elements > limits_.elements - used_)
      return fail(Code::kUnimplemented, "more than " + std::to_string(limits_.elements) +
                                            " elements in one model file are not served");
    used_ += elements;
    return {};
  }
  Result<std::string_view> text(const WireField& field);
  Status typed(const WireField& field, WireType single, TypedPayload& payload);
  // A repeated integer field, packed or not.
  Status integers(const WireField& field, std::vector<std::int64_t>& out);

  const std::uint8_t* origin_;
  const ParseLimits& limits_;
  std::uint64_t used_ = 0;
  int depth_ = 0;  // graphs around what is being read
};

Status expectType(const WireField& field, WireType type) {
  if (field.type == type) return {};
  return fail(Code::kInvalidArgument, "field " + std::to_string(field.number) + " has wire type " +
                                          std::to_string(static_cast<int>(field.type)) + ", expected " +
                                          std::to_string(static_cast<int>(type)));
}

// Versions go into documents, whose integers have 53 bits; real ones have two digits.
Status checkVersion(std::string_view what, std::int64_t version) {
  if (version >= 0 && version <= std::numeric_limits<std::int32_t>::max()) return {};
  return fail(Code::kInvalidArgument,
              std::string(what) + " is " + std::to_string(version) + ", which is no version");
}

std::string at(std::string_view what, std::size_t index) {
  return std::string(what) + "[" + std::to_string(index) + "]";
}

// Reads a nested message into a vector, with the place in the error.
#define KILN_NESTED(place, expression, target)                               \
  do {                                                                       \
    KILN_TRY(expectType(field, WireType::kBytes));                           \
    KILN_TRY(count());                                                       \
    auto nested = (expression);                                              \
    if (!nested) return fail(nested.error().in(at(place, (target).size()))); \
    (target).push_back(std::move(*nested));                                  \
  } while (0)

Result<std::string_view> Parser::text(const WireField& field) {
  KILN_TRY(expectType(field, WireType::kBytes));
  if (field.bytes.size() > limits_.nameBytes)
    return fail(Code::kUnimplemented, "field " + std::to_string(field.number) + " is a name of " +
                                          std::to_string(field.bytes.size()) + " bytes; at most " +
                                          std::to_string(limits_.nameBytes) + " are served");
  std::string_view text(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
  if (!isPlainText(text))
    return fail(Code::kInvalidArgument, "field " + std::to_string(field.number) +
                                            " is no UTF-8 text, or has a control character in it");
  return text;
}

Status Parser::integers(const WireField& field, std::vector<std::int64_t>& out) {
  if (field.type == WireType::kVarint) {
    KILN_TRY(count());
    out.push_back(static_cast<std::int64_t>(field.value));
    return {};
  }
  KILN_TRY(expectType(field, WireType::kBytes));
  WireReader packed = reader(field.bytes);
  while (!packed.atEnd()) {
    KILN_TRY(count());
    KILN_ASSIGN(std::uint64_t value, packed.varint());
    out.push_back(static_cast<std::int64_t>(value));
  }
  return {};
}

Status Parser::typed(const WireField& field, WireType single, TypedPayload& payload) {
  KILN_TRY(count());
  if (field.type == WireType::kBytes) {
    payload.packed.push_back(field.bytes);
    return {};
  }
  KILN_TRY(expectType(field, single));
  payload.single.push_back(field.value);
  return {};
}

Status Parser::externalEntry(Bytes bytes, Tensor& tensor) {
  std::string_view key, value;
  for (WireReader wire = reader(bytes); !wire.atEnd();) {
    KILN_ASSIGN(WireField field, wire.field());
    if (field.number == 1) {
      KILN_ASSIGN(key, text(field));
    } else if (field.number == 2) {
      KILN_ASSIGN(value, text(field));
    }
  }
  tensor.external.emplace_back(key, value);
  return {};
}

Result<Tensor> Parser::tensor(Bytes bytes) {
  Tensor tensor;
  for (WireReader wire = reader(bytes); !wire.atEnd();) {
    KILN_ASSIGN(WireField field, wire.field());
    switch (field.number) {
      case 1:
        KILN_TRY(integers(field, tensor.dims));
        break;
      case 2:
        KILN_TRY(expectType(field, WireType::kVarint));
        tensor.type = static_cast<std::int32_t>(field.value);
        break;
      case 4:
        KILN_TRY(typed(field, WireType::kFixed32, tensor.floats));
        break;
      case 5:
        KILN_TRY(typed(field, WireType::kVarint, tensor.ints32));
        break;
      case 6:
        KILN_TRY(expectType(field, WireType::kBytes));
        KILN_TRY(count());
        tensor.strings.emplace_back(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
        break;
      case 7:
        KILN_TRY(typed(field, WireType::kVarint, tensor.ints64));
        break;
      case 8: {
        KILN_ASSIGN(tensor.name, text(field));
        break;
      }
      case 9:
        KILN_TRY(expectType(field, WireType::kBytes));
        tensor.raw = field.bytes;
        break;
      case 10:
        KILN_TRY(typed(field, WireType::kFixed64, tensor.doubles));
        break;
      case 11:
        KILN_TRY(typed(field, WireType::kVarint, tensor.uints64));
        break;
      case 13:
        KILN_TRY(expectType(field, WireType::kBytes));
        KILN_TRY(count());
        KILN_TRY(externalEntry(field.bytes, tensor));
        break;
      case 14:
        KILN_TRY(expectType(field, WireType::kVarint));
        tensor.isExternal = field.value == 1;
        break;
      default:
        break;
    }
  }
  return tensor;
}

Result<std::string_view> Parser::sparseName(Bytes bytes) {
  std::string_view name;
  for (WireReader wire = reader(bytes); !wire.atEnd();) {
    KILN_ASSIGN(WireField field, wire.field());
    if (field.number != 1) continue;
    KILN_TRY(expectType(field, WireType::kBytes));
    KILN_ASSIGN(const Tensor values, tensor(field.bytes));
    name = values.name;
  }
  return name;
}

Result<Attribute> Parser::attribute(Bytes bytes) {
  Attribute attribute;
  for (WireReader wire = reader(bytes); !wire.atEnd();) {
    KILN_ASSIGN(WireField field, wire.field());
    switch (field.number) {
      case 1: {
        KILN_ASSIGN(attribute.name, text(field));
        break;
      }
      case 2:
        KILN_TRY(expectType(field, WireType::kFixed32));
        attribute.f = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
        break;
      case 3:
        KILN_TRY(expectType(field, WireType::kVarint));
        attribute.i = static_cast<std::int64_t>(field.value);
        break;
      case 4:
        KILN_TRY(expectType(field, WireType::kBytes));
        attribute.s = std::string_view(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
        break;
      case 5: {
        KILN_TRY(expectType(field, WireType::kBytes));
        KILN_TRY(count());
        auto nested = tensor(field.bytes);
        if (!nested) return fail(nested.error().in("tensor"));
        attribute.t = std::move(*nested);
        break;
      }
      case 6:
      case 11:
        KILN_NESTED("graph", graph(field.bytes), attribute.graphs);
        break;
      case 7:
        if (field.type == WireType::kFixed32) {
          KILN_TRY(count());
          attribute.floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(field.value)));
          break;
        }
        KILN_TRY(expectType(field, WireType::kBytes));
        if (field.bytes.size() % 4)
          return fail(Code::kInvalidArgument, "packed floats of a length that 4 does not divide");
        KILN_TRY(count(field.bytes.size() / 4));
        for (std::size_t i = 0; i < field.bytes.size(); i += 4) {
          float value = 0;
          std::memcpy(&value, field.bytes.data() + i, 4);
          attribute.floats.push_back(value);
        }
        break;
      case 8:
        KILN_TRY(integers(field, attribute.ints));
        break;
      case 9:
        KILN_TRY(expectType(field, WireType::kBytes));
        KILN_TRY(count());
        attribute.strings.emplace_back(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
        break;
      case 20:
        KILN_TRY(expectType(field, WireType::kVarint));
        attribute.type = static_cast<std::int32_t>(field.value);
        break;
      case 21: {
        KILN_ASSIGN(attribute.reference, text(field));
        break;
      }
      default:
        break;
    }
  }
  return attribute;
}

Result<Node> Parser::node(Bytes bytes) {
  Node node;
  for (WireReader wire = reader(bytes); !wire.atEnd();) {
    KILN_ASSIGN(WireField field, wire.field());
    switch (field.number) {
      case 1:
        KILN_NESTED("input", text(field), node.inputs);
        break;
      case 2:
        KILN_NESTED("output", text(field), node.outputs);
        break;
      case 3: {
        KILN_ASSIGN(node.name, text(field));
        break;
      }
      case 4: {
        KILN_ASSIGN(node.op, text(field));
        break;
      }
      case 5:
        KILN_NESTED("attribute", attribute(field.bytes), node.attributes);
        break;
      case 7: {
        KILN_ASSIGN(node.domain, text(field));
        break;
      }
      case 8: {
        KILN_ASSIGN(node.overload, text(field));
        break;
      }
      default:
        break;
    }
  }
  return node;
}

Status Parser::shape(Bytes bytes, ValueInfo& info) {
  info.shape.emplace();
  for (WireReader wire = reader(bytes); !wire.atEnd();) {
    KILN_ASSIGN(WireField dimField, wire.field());
    if (dimField.number != 1) continue;
    KILN_TRY(expectType(dimField, WireType::kBytes));
    KILN_TRY(count());
    DeclaredDim dim;
    for (WireReader dimWire = reader(dimField.bytes); !dimWire.atEnd();) {
      KILN_ASSIGN(WireField field, dimWire.field());
      if (field.number == 1) {
        KILN_TRY(expectType(field, WireType::kVarint));
        dim.value = static_cast<std::int64_t>(field.value);
      } else if (field.number == 2) {
        KILN_ASSIGN(dim.name, text(field));
      }
    }
    if (dim.value && *dim.value < 0) dim.value.reset();
    if (namesNothing(dim.name)) dim.name = {};
    info.shape->push_back(dim);
  }
  return {};
}

Status Parser::tensorType(Bytes bytes, ValueInfo& info) {
  info.isTensor = true;
  for (WireReader wire = reader(bytes); !wire.atEnd();) {
    KILN_ASSIGN(WireField field, wire.field());
    if (field.number == 1) {
      KILN_TRY(expectType(field, WireType::kVarint));
      info.type = static_cast<std::int32_t>(field.value);
    } else if (field.number == 2) {
      KILN_TRY(expectType(field, WireType::kBytes));
      KILN_TRY(shape(field.bytes, info));
    }
  }
  return {};
}

Status Parser::type(Bytes bytes, ValueInfo& info) {
  constexpr std::size_t kMaxContainers = 4;
  for (WireReader wire = reader(bytes); !wire.atEnd();) {
    KILN_ASSIGN(WireField kind, wire.field());
    if (kind.number != 1 && kind.number != 4 && kind.number != 9) continue;
    KILN_TRY(expectType(kind, WireType::kBytes));
    if (kind.number == 1) {
      KILN_TRY(tensorType(kind.bytes, info));
      continue;
    }
    if (info.containers.size() == kMaxContainers)
      return fail(Code::kInvalidArgument, "sequences and optionals are nested too deep");
    info.containers.push_back(kind.number == 4 ? Container::kSequence : Container::kOptional);
    for (WireReader inner = reader(kind.bytes); !inner.atEnd();) {
      KILN_ASSIGN(WireField element, inner.field());
      if (element.number != 1) continue;
      KILN_TRY(expectType(element, WireType::kBytes));
      KILN_TRY(type(element.bytes, info));
    }
  }
  return {};
}

Result<ValueInfo> Parser::valueInfo(Bytes bytes) {
  ValueInfo info;
  for (WireReader wire = reader(bytes); !wire.atEnd();) {
    KILN_ASSIGN(WireField field, wire.field());
    if (field.number == 1) {
      KILN_ASSIGN(info.name, text(field));
    } else if (field.number == 2) {
      KILN_TRY(expectType(field, WireType::kBytes));
      KILN_TRY(type(field.bytes, info));
    }
  }
  if (!info.containers.empty()) info.isTensor = false;
  return info;
}

Result<Graph> Parser::graph(Bytes bytes) {
  if (depth_ > limits_.graphDepth)
    return fail(Code::kUnimplemented,
                "graphs nested deeper than " + std::to_string(limits_.graphDepth) + " are not served");
  ++depth_;
  Graph graph;
  for (WireReader wire = reader(bytes); !wire.atEnd();) {
    KILN_ASSIGN(WireField field, wire.field());
    switch (field.number) {
      case 1:
        KILN_NESTED("node", node(field.bytes), graph.nodes);
        break;
      case 2: {
        KILN_ASSIGN(graph.name, text(field));
        break;
      }
      case 5:
        KILN_NESTED("initializer", tensor(field.bytes), graph.initializers);
        break;
      case 11:
        KILN_NESTED("input", valueInfo(field.bytes), graph.inputs);
        break;
      case 12:
        KILN_NESTED("output", valueInfo(field.bytes), graph.outputs);
        break;
      case 15:
        KILN_NESTED("sparse_initializer", sparseName(field.bytes), graph.sparse);
        break;
      default:
        break;
    }
  }
  --depth_;
  return graph;
}

Result<Function> Parser::function(Bytes bytes) {
  Function function;
  ++depth_;
  // Inputs and outputs of a function are names without types.
  auto named = [&](const WireField& field) -> Result<ValueInfo> {
    ValueInfo info;
    KILN_ASSIGN(info.name, text(field));
    return info;
  };
  for (WireReader wire = reader(bytes); !wire.atEnd();) {
    KILN_ASSIGN(WireField field, wire.field());
    switch (field.number) {
      case 1: {
        KILN_ASSIGN(function.name, text(field));
        break;
      }
      case 4:
        KILN_NESTED("input", named(field), function.graph.inputs);
        break;
      case 5:
        KILN_NESTED("output", named(field), function.graph.outputs);
        break;
      case 6:
        KILN_NESTED("attribute", text(field), function.attributes);
        break;
      case 7:
        KILN_NESTED("node", node(field.bytes), function.graph.nodes);
        break;
      case 9: {
        KILN_TRY(expectType(field, WireType::kBytes));
        KILN_TRY(count());
        auto nested = opset(field.bytes, function.opsets);
        if (!nested) return fail(nested.error().in("opset_import"));
        break;
      }
      case 10: {
        KILN_ASSIGN(function.domain, text(field));
        break;
      }
      case 11:
        KILN_NESTED("attribute_proto", attribute(field.bytes), function.defaults);
        break;
      case 13: {
        KILN_ASSIGN(function.overload, text(field));
        break;
      }
      default:
        break;
    }
  }
  if (function.domain == "ai.onnx") function.domain = "";
  --depth_;
  return function;
}

Status Parser::opset(Bytes bytes, Opsets& opsets) {
  std::string_view domain;
  std::int64_t version = 0;
  for (WireReader wire = reader(bytes); !wire.atEnd();) {
    KILN_ASSIGN(WireField field, wire.field());
    if (field.number == 1) {
      KILN_ASSIGN(domain, text(field));
    } else if (field.number == 2) {
      KILN_TRY(expectType(field, WireType::kVarint));
      version = static_cast<std::int64_t>(field.value);
    }
  }
  if (domain == "ai.onnx") domain = "";
  KILN_TRY(checkVersion("the version of domain '" + std::string(domain) + "'", version));
  // Tools that join models repeat an entry; two versions would leave open what a node means.
  const auto [known, isNew] = opsets.emplace(domain, version);
  if (!isNew && known->second != version)
    return fail(Code::kInvalidArgument,
                "the operator set of domain '" + std::string(domain) + "' is imported twice, as version " +
                    std::to_string(known->second) + " and " + std::to_string(version));
  return {};
}

Result<Model> Parser::model(Bytes bytes) {
  Model model;
  bool hasGraph = false;
  for (WireReader wire = reader(bytes); !wire.atEnd();) {
    KILN_ASSIGN(WireField field, wire.field());
    switch (field.number) {
      case 1:
        KILN_TRY(expectType(field, WireType::kVarint));
        model.irVersion = static_cast<std::int64_t>(field.value);
        KILN_TRY(checkVersion("the IR version", model.irVersion));
        break;
      case 2: {
        KILN_ASSIGN(model.producer, text(field));
        break;
      }
      case 3: {
        KILN_ASSIGN(model.producerVersion, text(field));
        break;
      }
      case 7: {
        KILN_TRY(expectType(field, WireType::kBytes));
        if (std::exchange(hasGraph, true)) return fail(Code::kInvalidArgument, "two graphs");
        auto nested = graph(field.bytes);
        if (!nested) return fail(nested.error().in("graph"));
        model.graph = std::move(*nested);
        break;
      }
      case 8: {
        KILN_TRY(expectType(field, WireType::kBytes));
        KILN_TRY(count());
        auto nested = opset(field.bytes, model.opsets);
        if (!nested) return fail(nested.error().in("opset_import"));
        break;
      }
      case 25:
        KILN_NESTED("function", function(field.bytes), model.functions);
        break;
      default:
        break;
    }
  }
  if (!hasGraph) return fail(Code::kInvalidArgument, "it has no graph; this is no ONNX model");
  return model;
}

#undef KILN_NESTED

}  // namespace

Result<Model> parseModel(Bytes bytes, const ParseLimits& limits) {
  if (bytes.empty()) return fail(Code::kInvalidArgument, "the model is empty (0 bytes)");
  if (bytes.size() > limits.bytes)
    return fail(Code::kUnimplemented, "the model file has " + std::to_string(bytes.size()) +
                                          " bytes; at most " + std::to_string(limits.bytes) + " are read");
  auto model = Parser(bytes.data(), limits).model(bytes);
  if (!model)
    return fail(
        model.error().in(model.error().code == Code::kUnimplemented ? "ONNX model" : "invalid ONNX model"));
  return model;
}

Result<Tensor> parseTensor(Bytes bytes, const ParseLimits& limits) {
  auto tensor = Parser(bytes.data(), limits).tensor(bytes);
  if (!tensor) return fail(tensor.error().in("invalid ONNX tensor"));
  return tensor;
}

}  // namespace kiln::onnx
