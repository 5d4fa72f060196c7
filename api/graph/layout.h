// Lays the boxes of a graph out in layers from left to right, so that edges lead to the right, ordered within
// a layer by where their neighbours are.
#pragma once

#include "api/graph/graph.h"

namespace kiln::graph {

struct Box {
  int x = 0, y = 0, width = 0, height = 0;  // pixels
};

struct Layout {
  std::vector<Box> boxes;  // as the graph's nodes
  int width = 0, height = 0;
};

inline constexpr int kLineHeight = 15, kCharacterWidth = 7, kPadding = 8;
inline constexpr std::size_t kMaxLine = 60;  // characters; a longer line is cut when drawn

// A graph with a cycle is laid out as well; an edge that closes it leads to the left.
Layout layOut(const Graph& graph);

}  // namespace kiln::graph
