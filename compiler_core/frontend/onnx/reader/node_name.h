// The name of a node in locations and messages.
#pragma once

#include <string>

#include "compiler_core/frontend/onnx/reader/model.h"

namespace kiln::onnx {

// The node's name; nodes without one are called after their first output, which is unique.
inline std::string nodeLabel(const Node& node) {
  if (!node.name.empty()) return std::string(node.name);
  for (std::string_view output : node.outputs)
    if (!output.empty()) return std::string(output);
  return std::string(node.op);
}

// "node 'conv1' (Conv, node[3])" for messages.
inline std::string nodeTitle(const Node& node, std::size_t index) {
  return "node '" + nodeLabel(node) + "' (" + std::string(node.op) + ", node[" + std::to_string(index) + "])";
}

}  // namespace kiln::onnx
