// A directed graph of what came from what, for people to look at. Text in it may come from outside.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace kiln::graph {

enum class Shape { kSource, kInput, kPart, kWho, kStatement, kArtifact };

struct Node {
  Shape shape = Shape::kInput;
  std::vector<std::string> lines;  // the label; the first line is the heading
};

struct Edge {
  std::size_t from = 0, to = 0;
};

class Graph {
 public:
  // The node of this key, made on first use.
  std::size_t node(const std::string& key, Shape shape, std::vector<std::string> lines);
  // Once, however often it is said.
  void edge(std::size_t from, std::size_t to);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Edge>& edges() const { return edges_; }

 private:
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::map<std::string, std::size_t> byKey_;
};

// Graphviz's language.
std::string toDot(const Graph& graph);
// A drawing of its own: no script, no font to load, nothing fetched.
std::string toSvg(const Graph& graph);

}  // namespace kiln::graph
