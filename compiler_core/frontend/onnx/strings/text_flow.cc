#include "compiler_core/frontend/onnx/strings/text_flow.h"

#include <algorithm>

namespace kiln::onnx {
namespace {

const std::vector<Passing>& rules() {
  static const std::vector<Passing> table = {
      {"", "Concat", {}},
      {"", "Equal", {}, false, true},
      {"", "Expand", {0}},
      {"", "Flatten", {0}},
      {"", "Gather", {0}},
      {"", "GatherElements", {0}},
      {"", "GatherND", {0}},
      {"", "Identity", {0}},
      {"", "Reshape", {0}},
      {"", "Shape", {0}, false},
      {"", "Size", {0}, false},
      {"", "Slice", {0}},
      {"", "Split", {0}},
      {"", "Squeeze", {0}},
      {"", "Tile", {0}},
      {"", "Transpose", {0}},
      {"", "Unsqueeze", {0}},
      {"", "Where", {1, 2}},
      {"ai.onnx.ml", "ArrayFeatureExtractor", {0}},
  };
  return table;
}

}  // namespace

bool Passing::moves(std::size_t input) const {
  return inputs.empty() || std::ranges::find(inputs, input) != inputs.end();
}

const Passing* passingOf(const Node& node) {
  const std::string_view domain = node.domain == "ai.onnx" ? std::string_view() : node.domain;
  const auto found = std::ranges::find_if(
      rules(), [&](const Passing& rule) { return rule.domain == domain && rule.op == node.op; });
  return found == rules().end() ? nullptr : &*found;
}

}  // namespace kiln::onnx
