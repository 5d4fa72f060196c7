#include "compiler_core/frontend/onnx/import/graph_importer.h"

#include "compiler_core/frontend/onnx/reader/node_name.h"
#include "compiler_core/ir/types.h"

namespace kiln::onnx {
namespace {

// Functions that call functions, and unrolled loops, can grow without bound.
constexpr std::int64_t kMaxNodes = 1 << 18;
// Every sequence is a list of its own, also where one is made from another.
constexpr std::size_t kMaxSequenceTensors = 1 << 22;

std::string_view plainDomain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}
std::string quoted(std::string_view text) {
  return (llvm::Twine("'") + llvm::StringRef(text) + "'").str();
}

// `node` with the attributes that refer to those of the function's call replaced by them.
Node resolved(const Node& node, const CallAttributes& given) {
  Node result = node;
  result.attributes.clear();
  for (const Attribute& attribute : node.attributes) {
    if (attribute.reference.empty()) {
      result.attributes.push_back(attribute);
      continue;
    }
    auto it = given.find(attribute.reference);
    if (it == given.end()) continue;  // left out by the call, so left out here
    Attribute value = *it->second;
    value.name = attribute.name;
    result.attributes.push_back(std::move(value));
  }
  return result;
}

}  // namespace

class GraphImporter::Bodies : public BodyImporter {
 public:
  Bodies(GraphImporter& importer, Scope& scope, const Node& node)
      : importer_(importer), scope_(scope), node_(node) {}

  Result<std::optional<Items>> importBody(const Graph& graph, const Items& arguments,
                                          std::string_view path) override {
    std::string place = scope_.path + nodeLabel(node_) + "/";
    if (!path.empty()) place += std::string(path) + "/";
    return importer_.body(scope_, graph, arguments, place);
  }

  Result<Item> replay(const std::vector<std::string_view>& names, const Items& arguments,
                      std::string_view output) override {
    // Finding them takes time too, and gradients of gradients find them again and again.
    KILN_TRY(charge(16 + static_cast<std::int64_t>(scope_.graph.nodes.size() / 16)));
    return importer_.replay(scope_, names, arguments, output, scope_.path + nodeLabel(node_) + "/");
  }

  Status charge(std::int64_t operations) override { return importer_.charge(operations, scope_, node_); }

 private:
  GraphImporter& importer_;
  Scope& scope_;
  const Node& node_;
};

GraphImporter::GraphImporter(const Model& model, mlir::OpBuilder& builder, Initializers& initializers,
                             Captured& captured)
    : model_(model), builder_(builder), initializers_(initializers), captured_(captured) {
  for (const Function& function : model.functions)
    functions_[{function.domain, function.name, function.overload}] = &function;
}

void GraphImporter::unserved(std::string node, std::string op, std::string_view domain, std::string reason) {
  domain = plainDomain(domain);
  auto it = model_.opsets.find(domain);
  captured_.capture.unsupported.push_back({std::move(node), std::move(op),
                                           domain.empty() ? "ai.onnx" : std::string(domain),
                                           it == model_.opsets.end() ? 0 : it->second, std::move(reason)});
}

Result<Item> GraphImporter::value(Scope& scope, std::string_view name) {
  if (name.empty()) return Item();
  for (Scope* place = &scope; place; place = place->outer) {
    if (auto it = place->names.find(name); it != place->names.end()) return it->second;
    auto it = place->tensors.find(name);
    if (it == place->tensors.end()) continue;
    // Made where its graph is, so that all that is inside can use it.
    mlir::OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToEnd(place->block);
    const std::string label = place->path + std::string(name);
    auto made = initializers_.import(builder_, location(label), *it->second, label);
    if (!made && made.error().code != Code::kUnimplemented)
      return fail(made.error().in("initializer " + quoted(name)));
    if (!made) unserved(label, "(initializer)", "", made.error().message);
    // Under the model's own name for it: the caller's may not last.
    return place->names[it->first] = made ? Item::tensor(*made) : Item::poisoned();
  }
  return fail(Code::kInvalidArgument, "the value " + quoted(name) + " is defined by nothing");
}

const Function* GraphImporter::findFunction(const Node& node) const {
  auto it = functions_.find({plainDomain(node.domain), node.op, node.overload});
  return it == functions_.end() ? nullptr : it->second;
}

// Why the operator of a node cannot be served; "" where it can.
std::string GraphImporter::notServed(const Scope& scope, const Node& node) const {
  std::string_view domain = plainDomain(node.domain);
  auto opset = scope.opsets.find(domain);
  std::string reason;
  if (opset == scope.opsets.end())
    return std::string(scope.attributes ? "the function" : "the model") +
           " imports no operator set for this domain";
  if (domain.empty() && (opset->second < kMinOpset || opset->second > kMaxOpset))
    return "opset " + std::to_string(opset->second) + " is outside the served range " +
           std::to_string(kMinOpset) + " to " + std::to_string(kMaxOpset);
  findOperator(domain, node.op, opset->second, reason);
  return reason;
}

Status GraphImporter::charge(std::int64_t nodes, const Scope& scope, const Node& node) {
  imported_ += nodes;
  if (imported_ <= kMaxNodes) return {};
  return fail(Code::kUnimplemented, "functions, loops and gradients expand to more than " +
                                        std::to_string(kMaxNodes) + " nodes, at " +
                                        quoted(scope.path + nodeLabel(node)));
}

Status GraphImporter::nodes(Scope& scope) {
  for (std::size_t i = 0; i < scope.graph.nodes.size(); ++i) KILN_TRY(node(scope, scope.graph.nodes[i], i));
  return {};
}

Status GraphImporter::node(Scope& scope, const Node& node, std::size_t index) {
  auto poison = [&] {
    for (std::string_view output : node.outputs)
      if (!output.empty()) scope.names[output] = Item::poisoned();
  };
  KILN_TRY(charge(1, scope, node));
  if (depth_ == 0) checks_.node = scope.path + nodeLabel(node);
  const Function* function = findFunction(node);
  if (!function)
    if (std::string reason = notServed(scope, node); !reason.empty()) {
      unserved(scope.path + nodeLabel(node), std::string(node.op), node.domain, reason);
      poison();
      return {};
    }
  Items inputs;
  bool poisoned = false;
  for (std::string_view name : node.inputs) {
    auto found = value(scope, name);
    if (!found) return fail(found.error().in(nodeTitle(node, index)));
    poisoned |= found->isPoisoned();
    inputs.push_back(std::move(*found));
  }
  if (poisoned) {
    poison();
    return {};
  }
  auto make = [&](const Node& given) {
    return function ? call(scope, given, *function, std::move(inputs))
                    : importNode(scope, given, std::move(inputs));
  };
  bool refers = scope.attributes && llvm::any_of(node.attributes, [](const Attribute& attribute) {
                  return !attribute.reference.empty();
                });
  builder_.setInsertionPointToEnd(scope.block);
  auto results = refers ? make(resolved(node, *scope.attributes)) : make(node);
  if (!results && results.error().code != Code::kUnimplemented)
    return fail(results.error().in(nodeTitle(node, index)));
  builder_.setInsertionPointToEnd(scope.block);
  if (!results) {
    unserved(scope.path + nodeLabel(node), std::string(node.op), node.domain, results.error().message);
    poison();
    return {};
  }
  bool constant = true;
  for (std::size_t i = 0; i < results->size(); ++i) {
    sequenceTensors_ += (*results)[i].parts.size();
    if (sequenceTensors_ > kMaxSequenceTensors)
      return fail(Code::kUnimplemented, "the model's sequences hold more than " +
                                            std::to_string(kMaxSequenceTensors) + " tensors, at " +
                                            quoted(scope.path + nodeLabel(node)));
    constant &= (*results)[i].isTensor() && (*results)[i].value.getDefiningOp<ir::ConstantOp>();
    poisoned |= (*results)[i].isPoisoned();
    if (i < node.outputs.size() && !node.outputs[i].empty())
      scope.names[node.outputs[i]] = std::move((*results)[i]);
  }
  if (depth_ > 0) return {};
  captured_.capture.served += !poisoned;
  captured_.analyse.foldedNodes += constant;
  return {};
}

Result<Items> GraphImporter::importNode(Scope& scope, const Node& node, Items inputs) {
  std::string_view domain = plainDomain(node.domain);
  const std::int64_t opset = scope.opsets.find(domain)->second;
  std::string reason;
  const Operator* row = findOperator(domain, node.op, opset, reason);
  if (!row) return fail(Code::kInternal, "no row for a checked node");
  if (row->import)
    for (auto [i, item] : llvm::enumerate(inputs))
      if (!item.isTensor() && !item.isAbsent())
        return fail(Code::kInvalidArgument, "input " + std::to_string(i) + " is " +
                                                std::string(kindText(item)) + ", the operator takes tensors");
  Bodies bodies(*this, scope, node);
  const std::string label = scope.path + nodeLabel(node);
  captured_.operators.try_emplace(label,
                                  (domain.empty() ? "" : std::string(domain) + ":") + std::string(node.op));
  NodeContext context(builder_, location(label), &checks_, initializers_, {node, opset, std::move(inputs)},
                      bodies);
  Items results;
  if (row->import) {
    KILN_ASSIGN(Values values, row->import(context));
    results = toItems(values);
  } else {
    KILN_ASSIGN(results, row->items(context));
  }
  if (!llvm::any_of(results, [](const Item& item) { return item.isPoisoned(); }))
    KILN_TRY(context.checkAttributes());
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty() && (i >= results.size() || results[i].isAbsent()))
      return fail(Code::kUnimplemented,
                  "output " + std::to_string(i) + " " + quoted(node.outputs[i]) + " is not served");
  return results;
}

Result<Items> GraphImporter::call(Scope& scope, const Node& node, const Function& function, Items inputs) {
  auto invalid = [&](const std::string& what) {
    return fail(Code::kInvalidArgument, "function " + quoted(function.name) + " " + what);
  };
  if (llvm::is_contained(calls_, &function)) return invalid("calls itself");
  if (depth_ >= kMaxDepth)
    return fail(Code::kUnimplemented,
                "functions and graphs are nested deeper than " + std::to_string(kMaxDepth));
  if (inputs.size() > function.graph.inputs.size())
    return invalid("has " + std::to_string(function.graph.inputs.size()) + " inputs, the node gives " +
                   std::to_string(inputs.size()));
  if (node.outputs.size() > function.graph.outputs.size())
    return invalid("has " + std::to_string(function.graph.outputs.size()) + " outputs, the node wants " +
                   std::to_string(node.outputs.size()));

  CallAttributes attributes;
  for (const Attribute& attribute : function.defaults) attributes[attribute.name] = &attribute;
  for (const Attribute& attribute : node.attributes) {
    if (!attributes.contains(attribute.name) && !llvm::is_contained(function.attributes, attribute.name))
      return invalid("has no attribute " + quoted(attribute.name));
    attributes[attribute.name] = &attribute;
  }
  Scope inner(function.graph, function.opsets, scope.block);
  inner.attributes = &attributes;
  inner.path = scope.path + nodeLabel(node) + "/";
  for (std::size_t i = 0; i < function.graph.inputs.size(); ++i)
    inner.names[function.graph.inputs[i].name] = i < inputs.size() ? std::move(inputs[i]) : Item();
  calls_.push_back(&function);
  auto results = outputs(inner);
  calls_.pop_back();
  if (!results) return fail(results.error().in("function " + quoted(function.name)));
  if (!*results) return Items(node.outputs.size(), Item::poisoned());
  return std::move(**results);
}

Result<std::optional<Items>> GraphImporter::body(Scope& scope, const Graph& graph, const Items& arguments,
                                                 const std::string& path) {
  const std::string title = "graph " + quoted(graph.name);
  if (depth_ >= kMaxDepth)
    return fail(Code::kUnimplemented,
                "functions and graphs are nested deeper than " + std::to_string(kMaxDepth));
  if (!graph.sparse.empty())
    return fail(Code::kUnimplemented, title + ": sparse initializers are not served");
  if (graph.inputs.size() != arguments.size())
    return fail(Code::kInvalidArgument, title + " has " + std::to_string(graph.inputs.size()) +
                                            " inputs, the operator gives it " +
                                            std::to_string(arguments.size()));
  Scope inner(graph, scope.opsets, builder_.getInsertionBlock());
  inner.outer = &scope;
  inner.attributes = scope.attributes;
  inner.path = path;
  for (auto [input, argument] : llvm::zip_equal(graph.inputs, arguments)) {
    if (input.isTensor && input.type != 0 && argument.isTensor() &&
        toDType(input.type) != ir::dtypeOf(elementOf(argument.value)))
      return fail(Code::kInvalidArgument, title + ": input " + quoted(input.name) + " is declared as " +
                                              elementTypeName(input.type) +
                                              ", the operator gives it another element type");
    inner.names[input.name] = argument;
  }
  auto results = outputs(inner);
  if (!results) return fail(results.error().in(title));
  return results;
}

Result<std::optional<Items>> GraphImporter::outputs(Scope& scope) {
  ++depth_;
  Status done = nodes(scope);
  --depth_;
  if (!done) return fail(done.error());
  Items results;
  bool poisoned = false;
  for (const ValueInfo& output : scope.graph.outputs) {
    KILN_ASSIGN(Item result, value(scope, output.name));
    poisoned |= result.isPoisoned();
    results.push_back(std::move(result));
  }
  builder_.setInsertionPointToEnd(scope.block);
  if (poisoned) return std::optional<Items>();
  return std::optional(std::move(results));
}

}  // namespace kiln::onnx
