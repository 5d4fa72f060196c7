// Structure of the graphs: definitions, uses, order.
#include <queue>
#include <set>
#include <unordered_map>

#include "compiler_core/frontend/onnx/reader/node_name.h"
#include "compiler_core/frontend/onnx/reader/parse.h"

namespace kiln::onnx {
namespace {

constexpr std::ptrdiff_t kGiven = -1;  // defined by an input or an initialiser rather than a node
using Definitions = std::unordered_map<std::string_view, std::ptrdiff_t>;
using Names = std::set<std::string_view>;

// The names a graph can see: its own, then those of the graphs around it.
struct Scope {
  const Definitions& own;
  const Scope* outer;

  static bool defines(const Scope* scope, std::string_view name) {
    for (; scope; scope = scope->outer)
      if (scope->own.contains(name)) return true;
    return false;
  }
};

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

// Which of two values is meant nobody could say.
Status checkAttributes(const Node& node, std::size_t index) {
  Names names;
  for (const Attribute& attribute : node.attributes)
    if (!names.insert(attribute.name).second)
      return fail(Code::kInvalidArgument,
                  nodeTitle(node, index) + " has the attribute " + quoted(attribute.name) + " twice");
  return {};
}

Result<Definitions> definitions(const Graph& graph, const Scope* outer) {
  Definitions defined;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].op.empty())
      return fail(Code::kInvalidArgument, nodeTitle(graph.nodes[i], i) + " has no operator");
    KILN_TRY(checkAttributes(graph.nodes[i], i));
  }
  for (const ValueInfo& input : graph.inputs) {
    if (input.name.empty()) return fail(Code::kInvalidArgument, "a graph input has no name");
    if (!defined.emplace(input.name, kGiven).second)
      return fail(Code::kInvalidArgument, "the graph input " + quoted(input.name) + " is declared twice");
  }
  std::vector<std::string_view> initializers = graph.sparse;
  for (const Tensor& tensor : graph.initializers) initializers.push_back(tensor.name);
  Names given;
  for (std::string_view name : initializers) {
    if (name.empty()) return fail(Code::kInvalidArgument, "an initializer has no name");
    if (!given.insert(name).second)
      return fail(Code::kInvalidArgument, "the initializer " + quoted(name) + " is given twice");
    defined.emplace(name, kGiven);  // may be an input as well: then it is that input's default
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (std::string_view output : graph.nodes[i].outputs) {
      if (output.empty()) continue;
      auto [it, fresh] = defined.emplace(output, static_cast<std::ptrdiff_t>(i));
      if (!fresh)
        return fail(Code::kInvalidArgument, "the value " + quoted(output) +
                                                " is defined twice, the second time by " +
                                                nodeTitle(graph.nodes[i], i));
    }
  // The parameters of a body are its own whatever their names: exporters give a loop's state the outer name.
  Names parameters;
  for (const ValueInfo& input : graph.inputs) parameters.insert(input.name);
  std::string_view shadowing;
  for (const auto& [name, node] : defined)
    if (!parameters.contains(name) && Scope::defines(outer, name) && (shadowing.empty() || name < shadowing))
      shadowing = name;
  if (!shadowing.empty())
    return fail(Code::kInvalidArgument, "the value " + quoted(shadowing) +
                                            " is defined again inside a graph that sees the first one");
  return defined;
}

Result<Names> check(Graph& graph, const Scope* outer);

// Checks the graphs inside a node; returns what they use from around it.
Result<Names> checkBodies(Node& node, const Scope& scope) {
  Names captured;
  for (Attribute& attribute : node.attributes)
    for (Graph& graph : attribute.graphs) {
      auto names = check(graph, &scope);
      if (!names) return fail(names.error().in("attribute " + quoted(attribute.name)));
      captured.merge(*names);
    }
  return captured;
}

// Kahn's algorithm; among the ready nodes the first in the file comes first. `uses`: each node's inputs and
// what its bodies capture.
Status order(Graph& graph, const Definitions& defined, const std::vector<Names>& uses) {
  std::vector<std::vector<std::size_t>> users(graph.nodes.size());
  std::vector<std::size_t> waiting(graph.nodes.size());
  auto producerOf = [&](std::string_view name) {
    auto it = defined.find(name);
    return it == defined.end() ? kGiven : it->second;
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (std::string_view name : uses[i]) {
      if (producerOf(name) == kGiven) continue;
      users[static_cast<std::size_t>(producerOf(name))].push_back(i);
      ++waiting[i];
    }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i] == 0) ready.push(i);
  std::vector<Node> ordered;
  ordered.reserve(graph.nodes.size());
  while (!ready.empty()) {
    std::size_t i = ready.top();
    ready.pop();
    ordered.push_back(std::move(graph.nodes[i]));
    for (std::size_t user : users[i])
      if (--waiting[user] == 0) ready.push(user);
  }
  if (ordered.size() != graph.nodes.size()) {
    // Walking from any waiting node to one it waits for, as often as there are nodes, ends on the cycle.
    auto waits = [&](std::size_t i) { return waiting[i] != 0; };
    std::size_t place = 0;
    while (!waits(place)) ++place;
    for (std::size_t step = 0; step < waiting.size(); ++step)
      for (std::string_view name : uses[place]) {
        auto producer = producerOf(name);
        if (producer == kGiven || !waits(static_cast<std::size_t>(producer))) continue;
        place = static_cast<std::size_t>(producer);
        break;
      }
    return fail(Code::kInvalidArgument,
                "the graph has a cycle; " + nodeTitle(graph.nodes[place], place) + " needs its own result");
  }
  graph.nodes = std::move(ordered);
  return {};
}

// Checks and orders a graph and those inside it; returns the names it uses from around it.
Result<Names> check(Graph& graph, const Scope* outer) {
  KILN_ASSIGN(const Definitions defined, definitions(graph, outer));
  const Scope scope{defined, outer};
  std::vector<Names> uses(graph.nodes.size());
  Names captured;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    auto inner = checkBodies(node, scope);
    if (!inner) return fail(inner.error().in(nodeTitle(node, i)));
    uses[i] = std::move(*inner);
    for (std::string_view input : node.inputs) {
      if (input.empty()) continue;
      if (!Scope::defines(&scope, input))
        return fail(Code::kInvalidArgument,
                    nodeTitle(node, i) + " uses the value " + quoted(input) + ", which nothing defines");
      uses[i].insert(input);
    }
    for (std::string_view name : uses[i])
      if (!defined.contains(name)) captured.insert(name);
  }
  if (graph.outputs.empty()) return fail(Code::kInvalidArgument, "the graph has no outputs");
  Names outputs;
  for (const ValueInfo& output : graph.outputs) {
    if (!Scope::defines(&scope, output.name))
      return fail(Code::kInvalidArgument,
                  "the graph output " + quoted(output.name) + " is defined by nothing");
    if (!defined.contains(output.name)) captured.insert(output.name);
    if (!outputs.insert(output.name).second && !outer)
      return fail(
          Code::kUnimplemented,
          "the graph output " + quoted(output.name) +
              " is listed twice, and results are asked for by name; leave one out, or give the second "
              "a name of its own (an Identity node)");
  }
  KILN_TRY(order(graph, defined, uses));
  return captured;
}

Status checkFunctions(Model& model) {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> known;
  for (Function& function : model.functions) {
    const std::string title = "function " + quoted(function.name);
    if (function.name.empty()) return fail(Code::kInvalidArgument, "a function has no name");
    if (!known.emplace(function.domain, function.name, function.overload).second)
      return fail(Code::kInvalidArgument, title + " is defined twice");
    if (auto names = check(function.graph, nullptr); !names) return fail(names.error().in(title));
  }
  return {};
}

}  // namespace

Status validate(Model& model) {
  Status result = checkFunctions(model);
  if (result)
    if (auto names = check(model.graph, nullptr); !names) result = fail(names.error());
  if (!result)
    return fail(
        result.error().in(result.error().code == Code::kUnimplemented ? "ONNX model" : "invalid ONNX model"));
  return {};
}

}  // namespace kiln::onnx
