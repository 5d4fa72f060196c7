// Structure of the graph: definitions, uses, order.
#include <queue>
#include <unordered_map>

#include "compiler_core/frontend/onnx/node_name.h"
#include "compiler_core/frontend/onnx/parse.h"

namespace kiln::onnx {
namespace {

constexpr std::ptrdiff_t kGiven = -1;  // defined by an input or an initialiser rather than a node
using Definitions = std::unordered_map<std::string_view, std::ptrdiff_t>;

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

Result<Definitions> definitions(const Graph& graph) {
  Definitions defined;
  for (const ValueInfo& input : graph.inputs) {
    if (input.name.empty()) return fail(Code::kInvalidArgument, "a graph input has no name");
    if (!defined.emplace(input.name, kGiven).second)
      return fail(Code::kInvalidArgument, "the graph input " + quoted(input.name) + " is declared twice");
  }
  std::unordered_map<std::string_view, bool> initializers;
  for (const Tensor& tensor : graph.initializers) {
    if (tensor.name.empty()) return fail(Code::kInvalidArgument, "an initializer has no name");
    if (!initializers.emplace(tensor.name, true).second)
      return fail(Code::kInvalidArgument, "the initializer " + quoted(tensor.name) + " is given twice");
    defined.emplace(tensor.name, kGiven);  // may be an input as well: then it is that input's default
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
  return defined;
}

// Kahn's algorithm; among the ready nodes the first in the file comes first.
Status order(Graph& graph, const Definitions& defined) {
  std::vector<std::vector<std::size_t>> users(graph.nodes.size());
  std::vector<std::size_t> waiting(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (std::string_view input : graph.nodes[i].inputs) {
      if (input.empty()) continue;
      auto it = defined.find(input);
      if (it == defined.end())
        return fail(Code::kInvalidArgument, nodeTitle(graph.nodes[i], i) + " uses the value " +
                                                quoted(input) + ", which nothing defines");
      if (it->second == kGiven) continue;
      users[static_cast<std::size_t>(it->second)].push_back(i);
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
      for (std::string_view input : graph.nodes[place].inputs) {
        auto producer = input.empty() ? kGiven : defined.at(input);
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

}  // namespace

Status validate(Model& model) {
  Graph& graph = model.graph;
  auto result = [&]() -> Status {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (graph.nodes[i].op.empty())
        return fail(Code::kInvalidArgument, nodeTitle(graph.nodes[i], i) + " has no operator");
    KILN_ASSIGN(Definitions defined, definitions(graph));
    if (graph.outputs.empty()) return fail(Code::kInvalidArgument, "the graph has no outputs");
    std::unordered_map<std::string_view, bool> outputs;
    for (const ValueInfo& output : graph.outputs) {
      if (!defined.contains(output.name))
        return fail(Code::kInvalidArgument,
                    "the graph output " + quoted(output.name) + " is defined by nothing");
      if (!outputs.emplace(output.name, true).second)
        return fail(Code::kInvalidArgument, "the graph output " + quoted(output.name) + " is declared twice");
    }
    return order(graph, defined);
  }();
  if (!result) return fail(result.error().in("invalid ONNX model"));
  return {};
}

}  // namespace kiln::onnx
