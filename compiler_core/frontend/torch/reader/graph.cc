#include "compiler_core/frontend/torch/reader/graph.h"

#include <array>

#include "compiler_core/frontend/torch/reader/members.h"
#include "manifest/base/printable.h"

namespace kiln::torch {
namespace {

constexpr std::size_t kMaxRank = 64, kMaxListed = std::size_t{1} << 20;
constexpr std::int64_t kStrided = 7;  // Layout.Strided

template <class T, class F>
Result<std::vector<T>> each(const Json& list, F read) {
  if (!list.is_array() || list.size() > kMaxListed) return malformed("what should be a list is none");
  std::vector<T> out;
  out.reserve(list.size());
  for (const Json& one : list) {
    KILN_ASSIGN(T value, read(one));
    out.push_back(std::move(value));
  }
  return out;
}

Result<TensorName> readTensorName(const Json& json) {
  const Json* name = find(json, "name");
  if (!name) return malformed("a tensor has no name");
  KILN_ASSIGN(std::string text, asName(*name));
  return TensorName{std::move(text)};
}

Result<std::optional<TensorName>> readOptionalTensor(const Json& json) {
  KILN_ASSIGN(const Tagged tagged, asUnion(json));
  if (tagged.tag == "as_none") return std::optional<TensorName>();
  if (tagged.tag != "as_tensor") return malformed("an optional tensor is neither a tensor nor None");
  KILN_ASSIGN(TensorName name, readTensorName(*tagged.value));
  return std::optional(std::move(name));
}

Result<IntegerArgument> readInteger(const Json& json) {
  KILN_ASSIGN(const std::int64_t value, asInteger(json));
  return IntegerArgument{value, {}};
}

Result<IntegerArgument> readSymInt(const Json& json) {
  KILN_ASSIGN(const Tagged tagged, asUnion(json));
  if (tagged.tag == "as_int") return readInteger(*tagged.value);
  if (tagged.tag != "as_name") return malformed("an integer is neither a number nor a name");
  KILN_ASSIGN(std::string name, asName(*tagged.value));
  return IntegerArgument{0, std::move(name)};
}

Result<bool> readFlag(const Json& json) {
  if (!json.is_boolean()) return malformed("what should be a boolean is none");
  return json.get<bool>();
}

template <class T>
Result<Argument> wrap(Result<T> value) {
  if (!value) return fail(value.error());
  return Argument(std::move(*value));
}

Result<Argument> readScalarType(const Json& json, int) {
  KILN_ASSIGN(const std::int64_t type, asInteger(json));
  return Argument(ScalarTypeArgument{type});
}
Result<Argument> readText(const Json& json, int) {
  if (!json.is_string()) return malformed("what should be a text is none");
  return Argument(json.get<std::string>());
}
Result<Argument> readTensors(const Json& json, int) {
  return wrap(each<std::optional<TensorName>>(json, [](const Json& one) -> Result<std::optional<TensorName>> {
    KILN_ASSIGN(TensorName name, readTensorName(one));
    return std::optional(std::move(name));
  }));
}
Result<Argument> readInnerGraph(const Json& json, int depth) {
  KILN_ASSIGN(const Json* inner, objectOf(json, "graph"));
  KILN_ASSIGN(Graph graph, readGraph(*inner, depth + 1));
  return Argument(std::shared_ptr<const Graph>(std::make_shared<Graph>(std::move(graph))));
}

struct Kind {
  std::string_view tag;
  Result<Argument> (*read)(const Json& json, int depth);
};
constexpr std::array<Kind, 20> kKinds = {{
    {"as_none", [](const Json&, int) -> Result<Argument> { return Argument(); }},
    {"as_tensor", [](const Json& json, int) { return wrap(readTensorName(json)); }},
    {"as_tensors", readTensors},
    {"as_int", [](const Json& json, int) { return wrap(readInteger(json)); }},
    {"as_ints", [](const Json& json, int) { return wrap(each<IntegerArgument>(json, readInteger)); }},
    {"as_float", [](const Json& json, int) { return wrap(asReal(json)); }},
    {"as_floats", [](const Json& json, int) { return wrap(each<double>(json, asReal)); }},
    {"as_string", readText},
    {"as_sym_int", [](const Json& json, int) { return wrap(readSymInt(json)); }},
    {"as_sym_ints", [](const Json& json, int) { return wrap(each<IntegerArgument>(json, readSymInt)); }},
    {"as_scalar_type", readScalarType},
    {"as_memory_format", [](const Json&, int) -> Result<Argument> { return Argument(PlacementArgument()); }},
    {"as_layout", [](const Json&, int) -> Result<Argument> { return Argument(PlacementArgument()); }},
    {"as_device", [](const Json&, int) -> Result<Argument> { return Argument(PlacementArgument()); }},
    {"as_bool", [](const Json& json, int) { return wrap(readFlag(json)); }},
    {"as_bools", [](const Json& json, int) { return wrap(each<bool>(json, readFlag)); }},
    {"as_graph", readInnerGraph},
    {"as_optional_tensors",
     [](const Json& json, int) { return wrap(each<std::optional<TensorName>>(json, readOptionalTensor)); }},
    {"as_optional_tensor",
     [](const Json& json, int) -> Result<Argument> {
       KILN_ASSIGN(std::optional<TensorName> tensor, readOptionalTensor(json));
       return tensor ? Argument(std::move(*tensor)) : Argument();
     }},
    {"as_operator", readText},
}};

void addOutput(const Argument& output, std::vector<std::string>& names) {
  if (const auto* tensor = std::get_if<TensorName>(&output)) {
    names.push_back(tensor->name);
  } else if (const auto* list = std::get_if<std::vector<std::optional<TensorName>>>(&output)) {
    for (const auto& one : *list) names.push_back(one ? one->name : std::string());
  } else {
    names.emplace_back();
  }
}

Result<Node> readNode(const Json& json, int depth) {
  Node node;
  KILN_ASSIGN(node.target, textOf(json, "target"));
  constexpr std::string_view kOps = "torch.ops.";
  if (node.target.starts_with(kOps)) node.target.erase(0, kOps.size());
  if (node.target.empty()) return malformed("its target has no name");
  KILN_ASSIGN(const Json* inputs, arrayOf(json, "inputs"));
  for (const Json& input : *inputs) {
    KILN_ASSIGN(std::string name, textOf(input, "name"));
    // Operators that take graphs have no names of arguments.
    if (name.empty()) name = std::to_string(node.inputs.size());
    const Json* given = find(input, "arg");
    auto value = given ? readArgument(*given, depth) : malformed("it has no value");
    if (!value) return fail(value.error().in("argument " + inQuotes(name)));
    node.inputs.push_back({std::move(name), std::move(*value)});
  }
  KILN_ASSIGN(const Json* outputs, arrayOf(json, "outputs"));
  for (const Json& output : *outputs) {
    KILN_ASSIGN(const Argument value, readArgument(output, depth));
    addOutput(value, node.outputs);
  }
  // Older files have no names of nodes.
  if (const Json* name = find(json, "name"); name && name->is_string()) node.name = name->get<std::string>();
  if (node.name.empty() && !node.outputs.empty()) node.name = node.outputs.front();
  if (node.name.empty()) node.name = node.target;
  return node;
}

Result<TensorMeta> readMeta(const Json& json) {
  TensorMeta meta;
  KILN_ASSIGN(meta.type, integerOf(json, "dtype"));
  KILN_ASSIGN(const Json* sizes, arrayOf(json, "sizes"));
  if (sizes->size() > kMaxRank) return malformed("more than 64 dimensions");
  KILN_ASSIGN(meta.sizes, each<Expression>(*sizes, asSymInt));
  KILN_ASSIGN(const Json* strides, arrayOf(json, "strides"));
  if (strides->size() != sizes->size()) return malformed("it has other strides than sizes");
  KILN_ASSIGN(meta.strides, each<Expression>(*strides, asSymInt));
  if (find(json, "layout")) {
    KILN_ASSIGN(const std::int64_t layout, integerOf(json, "layout"));
    meta.isStrided = layout == kStrided;
  }
  return meta;
}

}  // namespace

Result<Argument> readArgument(const Json& json, int depth) {
  KILN_ASSIGN(const Tagged tagged, asUnion(json));
  for (const Kind& kind : kKinds)
    if (kind.tag == tagged.tag) return kind.read(*tagged.value, depth);
  return Argument(OtherArgument{tagged.tag});
}

Result<Graph> readGraph(const Json& json, int depth) {
  if (depth > kMaxGraphDepth)
    return malformed("graphs are nested more than " + std::to_string(kMaxGraphDepth) + " deep");
  Graph graph;
  auto argument = [&](const Json& one) { return readArgument(one, depth); };
  KILN_ASSIGN(const Json* inputs, arrayOf(json, "inputs"));
  KILN_ASSIGN(graph.inputs, each<Argument>(*inputs, argument));
  KILN_ASSIGN(const Json* outputs, arrayOf(json, "outputs"));
  KILN_ASSIGN(graph.outputs, each<Argument>(*outputs, argument));
  KILN_ASSIGN(const Json* nodes, arrayOf(json, "nodes"));
  if (nodes->size() > kMaxNodes) return malformed("more than " + std::to_string(kMaxNodes) + " nodes");
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    auto node = readNode((*nodes)[i], depth);
    if (!node) return fail(node.error().in("node " + std::to_string(i)));
    graph.nodes.push_back(std::move(*node));
  }
  KILN_ASSIGN(const Json* tensors, objectOf(json, "tensor_values"));
  for (const auto& [name, value] : tensors->items()) {
    auto meta = readMeta(value);
    if (!meta) return fail(meta.error().in("tensor " + inQuotes(name)));
    graph.tensors.emplace(name, std::move(*meta));
  }
  if (const Json* integers = find(json, "sym_int_values"))
    for (const auto& [name, value] : integers->items()) {
      auto expression = asSymInt(value);
      if (!expression) return fail(expression.error().in("integer " + inQuotes(name)));
      graph.integers.emplace(name, std::move(*expression));
    }
  return graph;
}

}  // namespace kiln::torch
