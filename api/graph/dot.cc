#include <fmt/format.h>

#include "api/graph/graph.h"
#include "manifest/base/printable.h"

namespace kiln::graph {
namespace {

// Within a double-quoted string: quotes and backslashes are escaped, so that text can end neither string nor
// line.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

const char* shapeOf(Shape shape) {
  switch (shape) {
    case Shape::kSource:
      return "cylinder";
    case Shape::kWho:
      return "oval";
    case Shape::kStatement:
      return "note";
    case Shape::kArtifact:
      return "box3d";
    default:
      return "box";
  }
}

}  // namespace

std::size_t Graph::node(const std::string& key, Shape shape, std::vector<std::string> lines) {
  const auto [at, added] = byKey_.try_emplace(key, nodes_.size());
  if (added) nodes_.push_back({shape, std::move(lines)});
  return at->second;
}

void Graph::edge(std::size_t from, std::size_t to) {
  for (const Edge& edge : edges_)
    if (edge.from == from && edge.to == to) return;
  edges_.push_back({from, to});
}

std::string toDot(const Graph& graph) {
  std::string out = "digraph provenance {\n  rankdir=LR;\n  node [fontname=\"monospace\"];\n";
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    std::string label;
    for (const std::string& line : node.lines) label += (label.empty() ? "" : "\\n") + escaped(line);
    out += fmt::format("  n{} [shape={}, label=\"{}\"];\n", i, shapeOf(node.shape), label);
  }
  for (const Edge& edge : graph.edges()) out += fmt::format("  n{} -> n{};\n", edge.from, edge.to);
  return out + "}\n";
}

}  // namespace kiln::graph
