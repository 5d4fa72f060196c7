// Nodes that are imported a second time, with other operands: what an operator such as Gradient says by
// names.
#include <unordered_set>

#include "compiler_core/frontend/onnx/import/graph_importer.h"

namespace kiln::onnx {
namespace {

using Names = std::unordered_set<std::string_view>;

// Every name that a node reads, in the graphs inside it too.
template <class Visit>
void eachRead(const Node& node, const Visit& visit) {
  for (std::string_view name : node.inputs)
    if (!name.empty()) visit(name);
  for (const Attribute& attribute : node.attributes)
    for (const Graph& graph : attribute.graphs) {
      for (const Node& inner : graph.nodes) eachRead(inner, visit);
      for (const ValueInfo& output : graph.outputs) visit(output.name);
    }
}

}  // namespace

Result<Item> GraphImporter::replay(Scope& scope, const std::vector<std::string_view>& names,
                                   const Items& arguments, std::string_view output, const std::string& path) {
  if (depth_ >= kMaxDepth)
    return fail(Code::kUnimplemented,
                "functions and graphs are nested deeper than " + std::to_string(kMaxDepth));
  const std::vector<Node>& all = scope.graph.nodes;
  // What depends on the names, and what of it `output` needs. Nodes are in an order of their operands.
  const Names given(names.begin(), names.end());
  Names changed = given, needed = {output};
  for (const Node& node : all) {
    bool depends = false;
    eachRead(node, [&](std::string_view name) { depends |= changed.contains(name); });
    if (depends)
      for (std::string_view name : node.outputs) changed.insert(name);
  }
  std::vector<std::size_t> again;
  for (std::size_t i = all.size(); i-- > 0;) {
    const auto wanted = [&](std::string_view name) {
      // A node that a replay needs may come after the one that asks for it.
      return !name.empty() && needed.contains(name) && !given.contains(name) &&
             (changed.contains(name) || !scope.names.contains(name));
    };
    if (llvm::none_of(all[i].outputs, wanted)) continue;
    again.push_back(i);
    eachRead(all[i], [&](std::string_view name) { needed.insert(name); });
  }
  Scope inner(scope.graph, scope.opsets, builder_.getInsertionBlock());
  inner.tensors.clear();  // those of the scope around it
  inner.outer = &scope;
  inner.attributes = scope.attributes;
  inner.path = path;
  for (auto [name, argument] : llvm::zip_equal(names, arguments)) inner.names[name] = argument;
  // What is imported a second time has been counted.
  const std::vector<IndexChecks::Count> counts = checks_.counts;
  ++depth_;
  Status done;
  for (std::size_t i : llvm::reverse(again))
    if (done) done = node(inner, all[i], i);
  --depth_;
  checks_.counts = counts;
  if (!done) return fail(done.error());
  return value(inner, output);
}

}  // namespace kiln::onnx
