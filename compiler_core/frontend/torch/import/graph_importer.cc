#include "compiler_core/frontend/torch/import/graph_importer.h"

namespace kiln::torch {
namespace {

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxLabel = 1024;

template <class F>
bool anyTensor(const Node& node, F holds) {
  for (const NamedArgument& input : node.inputs) {
    if (const auto* tensor = std::get_if<TensorName>(&input.value); tensor && holds(tensor->name))
      return true;
    const auto* list = std::get_if<std::vector<std::optional<TensorName>>>(&input.value);
    if (!list) continue;
    for (const auto& tensor : *list)
      if (tensor && holds(tensor->name)) return true;
  }
  return false;
}

}  // namespace

std::string tensorNamed(const Node& node, std::string_view argument) {
  for (const NamedArgument& input : node.inputs)
    if (const auto* tensor = std::get_if<TensorName>(&input.value); tensor && input.name == argument)
      return tensor->name;
  return {};
}

std::string baseOf(const Node& node) {
  const std::string self = tensorNamed(node, "self");
  return self.empty() ? tensorNamed(node, "input") : self;
}

Result<Value> GraphImporter::tensor(std::string_view name) {
  return scope_->tensors.read(name);
}

bool GraphImporter::dependsOnPoison(const Node& node) const {
  return anyTensor(node, [&](const std::string& name) { return scope_->tensors.isPoisoned(name); });
}

NodeContext GraphImporter::contextOf(const Node& node, const Row& row) {
  std::string label = scope_->path + node.name;
  if (label.size() > kMaxLabel) label.resize(kMaxLabel);
  captured_.operators.try_emplace(label, node.target);
  const mlir::Location location = mlir::NameLoc::get(builder_.getStringAttr(label));
  if (depth_ == 0) checks_.node = label;
  return NodeContext(builder_, location, checks_,
                     {*scope_->graph, node, row.precision == Precision::kWidened}, *this);
}

Result<Value> GraphImporter::asDeclared(NodeContext& context, Value value, std::size_t index) const {
  KILN_ASSIGN(const mlir::Type type, context.outputType(index));
  KILN_ASSIGN(const Shape shape, context.outputShape(index));
  if (elementOf(value) != type) {
    if (!elementOf(value).isF32() || !(type.isF16() || type.isBF16()))
      return invalid("result " + std::to_string(index) + " is " + context.typeText(value) +
                     " where the program declares another element type");
    KILN_ASSIGN(value, context.cast(value, type));
  }
  const Shape have = dimsOf(value);
  bool isSame = have.size() == shape.size();
  for (std::size_t i = 0; isSame && i < have.size(); ++i)
    isSame = !have[i].isStatic() || !shape[i].isStatic() || have[i] == shape[i];
  if (!isSame)
    return invalid("result " + std::to_string(index) + " has the shape " + context.describe(have) +
                   " where the program declares " + context.describe(shape));
  return value;
}

Result<Values> GraphImporter::made(const Node& node, const Row& row) {
  NodeContext context = contextOf(node, row);
  KILN_ASSIGN(Values results, row.import(context));
  if (const std::string_view rest = context.unread(); !rest.empty())
    return unserved("argument " + std::string(rest) + " is not served");
  if (results.size() < node.outputs.size())
    return invalid("the program takes " + std::to_string(node.outputs.size()) +
                   " results of an operator with " + std::to_string(results.size()));
  results.resize(node.outputs.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i] || node.outputs[i].empty()) continue;
    KILN_ASSIGN(results[i], asDeclared(context, results[i], i));
  }
  return results;
}

Result<Value> GraphImporter::look(const Node& node, std::size_t index) {
  KILN_ASSIGN(const Values results, made(node, *findOperator(node.target)->row));
  return results[index];
}

Result<Value> GraphImporter::written(const Node& node, std::size_t index, Value base, Value part) {
  const Row& row = *findOperator(node.target)->row;
  if (!row.write)
    return unserved("writing in place through " + node.target + " is not served; clone() it first");
  NodeContext context = contextOf(node, row);
  return row.write(context, base, part, index);
}

Status GraphImporter::poison(const Node& node) {
  for (const std::string& name : node.outputs)
    if (!name.empty()) KILN_TRY(scope_->tensors.poison(name));
  return {};
}

Status GraphImporter::define(const Node& node, const Operator& found, Values results) {
  TensorsByName& tensors = scope_->tensors;
  if (found.isInPlace) {
    const std::string self = baseOf(node);
    if (self.empty() || results.size() != 1) return unserved("writing in place into what is no tensor");
    KILN_ASSIGN(const Value before, tensors.read(self));
    NodeContext context = contextOf(node, *found.row);
    KILN_ASSIGN(Value value, context.cast(results[0], elementOf(before)));
    KILN_ASSIGN(value, context.broadcast(value, dimsOf(before)));
    KILN_TRY(tensors.write(self, value));
    return tensors.define(node.outputs[0], self);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const std::string base = found.row->alias == Alias::kNone ? std::string() : baseOf(node);
    const Status done = base.empty()
                            ? tensors.define(node.outputs[i], results[i])
                            : tensors.define(node.outputs[i], results[i], {base, &node, i, found.row->alias});
    if (!done) return done;
  }
  return {};
}

Status GraphImporter::node(const Node& node) {
  const auto found = findOperator(node.target);
  if (!found) {
    // The survey has refused what makes tensors; the others calculate with integers.
    if (isOfIntegers(node.target)) return {};
    return unserved("operator " + node.target + " is not served");
  }
  if (dependsOnPoison(node)) return poison(node);
  auto results = made(node, *found->row);
  Status done = results ? define(node, *found, *results) : Status(fail(results.error()));
  if (done) {
    if (depth_ == 0) ++captured_.capture.served;
    return {};
  }
  const std::string place = scope_->path + node.name;
  // Within a graph the node around it is what is not served.
  if (done.error().code != Code::kUnimplemented)
    return fail(done.error().in("node " + place + " (" + node.target + ")"));
  captured_.capture.unsupported.push_back({place, node.target, "", 0, done.error().message});
  for (const std::string& name : node.outputs)
    if (!name.empty() && !scope_->tensors.isDefined(name)) KILN_TRY(scope_->tensors.poison(name));
  return {};
}

Status GraphImporter::allNodes() {
  for (const Node& one : scope_->graph->nodes) KILN_TRY(node(one));
  return {};
}

Status GraphImporter::nodes(const Graph& graph) {
  outermost_.graph = &graph;
  return allNodes();
}

Result<std::optional<Values>> GraphImporter::body(const Graph& graph, const Values& arguments) {
  if (depth_ >= kMaxDepth) return unserved("graphs are nested too deeply");
  if (arguments.size() != graph.inputs.size())
    return invalid("a graph takes " + std::to_string(graph.inputs.size()) + " values and is given " +
                   std::to_string(arguments.size()));
  Scope own{&graph, TensorsByName(*this), scope_->path + "graph/"};
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (const auto* name = std::get_if<TensorName>(&graph.inputs[i]))
      KILN_TRY(own.tensors.define(name->name, arguments[i]));
  Scope* outer = std::exchange(scope_, &own);
  ++depth_;
  const std::size_t notes = captured_.capture.unsupported.size();
  auto results = [&]() -> Result<std::optional<Values>> {
    KILN_TRY(allNodes());
    if (captured_.capture.unsupported.size() != notes) return std::optional<Values>();
    Values values;
    for (const Argument& output : graph.outputs) {
      const auto* name = std::get_if<TensorName>(&output);
      if (!name) return unserved("a graph that gives something else than tensors is not served");
      KILN_ASSIGN(const Value value, own.tensors.read(name->name));
      values.push_back(value);
    }
    for (const Argument& input : graph.inputs)
      if (const auto* name = std::get_if<TensorName>(&input); name && own.tensors.isWritten(name->name))
        return unserved("a graph that writes its inputs in place is not served");
    return std::optional(std::move(values));
  }();
  --depth_;
  scope_ = outer;
  return results;
}

}  // namespace kiln::torch
