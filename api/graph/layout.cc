#include "api/graph/layout.h"

#include <algorithm>

namespace kiln::graph {
namespace {

constexpr int kGapX = 70, kGapY = 14, kMargin = 16;
constexpr int kSweeps = 6;

using Layers = std::vector<std::vector<std::size_t>>;

// The length of the longest way to each node. Ends after as many rounds as there are nodes, whatever the
// graph.
std::vector<std::size_t> depths(const Graph& graph) {
  std::vector<std::size_t> depth(graph.nodes().size(), 0);
  bool changed = true;
  for (std::size_t round = 0; changed && round < graph.nodes().size(); ++round) {
    changed = false;
    for (const Edge& edge : graph.edges()) {
      if (depth[edge.to] > depth[edge.from]) continue;
      if (depth[edge.from] + 1 >= graph.nodes().size()) continue;
      depth[edge.to] = depth[edge.from] + 1;
      changed = true;
    }
  }
  return depth;
}

// What leads nowhere but to the right stands next to what it leads to.
void pullRight(const Graph& graph, std::vector<std::size_t>& depth) {
  for (std::size_t node = 0; node < depth.size(); ++node) {
    bool isSource = true;
    std::size_t nearest = graph.nodes().size();
    for (const Edge& edge : graph.edges()) {
      if (edge.to == node) isSource = false;
      if (edge.from == node) nearest = std::min(nearest, depth[edge.to]);
    }
    if (isSource && nearest > 0 && nearest < graph.nodes().size()) depth[node] = nearest - 1;
  }
}

Layers layersOf(const Graph& graph) {
  std::vector<std::size_t> depth = depths(graph);
  pullRight(graph, depth);
  Layers layers;
  for (std::size_t node = 0; node < depth.size(); ++node) {
    if (depth[node] >= layers.size()) layers.resize(depth[node] + 1);
    layers[depth[node]].push_back(node);
  }
  std::erase_if(layers, [](const auto& layer) { return layer.empty(); });
  return layers;
}

// Each node goes to the mean place of its neighbours; a few sweeps to and fro undo most crossings.
void order(const Graph& graph, Layers& layers) {
  std::vector<double> place(graph.nodes().size());
  const auto number = [&](const std::vector<std::size_t>& layer) {
    for (std::size_t i = 0; i < layer.size(); ++i)
      place[layer[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(layer.size());
  };
  for (const auto& layer : layers) number(layer);
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (std::size_t i = 0; i < layers.size(); ++i) {
      auto& layer = layers[sweep % 2 == 0 ? i : layers.size() - 1 - i];
      std::vector<double> wanted = place;
      for (const std::size_t node : layer) {
        double sum = 0;
        int neighbours = 0;
        for (const Edge& edge : graph.edges()) {
          if (edge.from != node && edge.to != node) continue;
          sum += place[edge.from == node ? edge.to : edge.from];
          ++neighbours;
        }
        if (neighbours > 0) wanted[node] = sum / neighbours;
      }
      std::ranges::sort(layer, {}, [&](std::size_t node) { return std::pair(wanted[node], place[node]); });
      number(layer);
    }
}

Box sizeOf(const Node& node) {
  std::size_t longest = 1;
  for (const std::string& line : node.lines) longest = std::max(longest, std::min(line.size(), kMaxLine));
  return {0, 0, static_cast<int>(longest) * kCharacterWidth + 2 * kPadding,
          static_cast<int>(std::max<std::size_t>(node.lines.size(), 1)) * kLineHeight + 2 * kPadding};
}

}  // namespace

Layout layOut(const Graph& graph) {
  Layers layers = layersOf(graph);
  order(graph, layers);
  Layout out;
  for (const Node& node : graph.nodes()) out.boxes.push_back(sizeOf(node));
  std::vector<int> heights;
  for (const auto& layer : layers) {
    int height = -kGapY;
    for (const std::size_t node : layer) height += out.boxes[node].height + kGapY;
    heights.push_back(height);
  }
  const int tallest = heights.empty() ? 0 : *std::ranges::max_element(heights);
  int x = kMargin;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    int y = kMargin + (tallest - heights[i]) / 2, width = 0;
    for (const std::size_t node : layers[i]) {
      out.boxes[node].x = x;
      out.boxes[node].y = y;
      y += out.boxes[node].height + kGapY;
      width = std::max(width, out.boxes[node].width);
    }
    x += width + kGapX;
  }
  out.width = layers.empty() ? 2 * kMargin : x - kGapX + kMargin;
  out.height = tallest + 2 * kMargin;
  return out;
}

}  // namespace kiln::graph
