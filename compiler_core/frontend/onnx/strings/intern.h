// Strings of a model as integers. A program computes with numbers only, so each text that the model names
// becomes its place in one sorted table, and the artifact's manifest holds that table for whoever feeds or
// reads the program.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler_core/frontend/onnx/reader/model.h"
#include "compiler_core/frontend/onnx/reader/unserved_node.h"

namespace kiln::onnx {

// Bounds of the table: texts, bytes of one, bytes of all.
inline constexpr std::size_t kMaxTexts = 16'384, kMaxTextBytes = 4'096, kMaxTableBytes = 1 << 20;

struct InternedStrings {
  std::vector<std::string> texts;      // in the order of their bytes, each once; text i is the number i
  std::set<std::string> values;        // inputs and outputs of the graph that hold such numbers
  std::vector<UnservedNode> unserved;  // where strings stand that cannot be numbers, in the graph's order
};

// Rewrites `model`: tensors, attributes, inputs and outputs of strings become those of 64-bit integers, where
// every place that a string reaches is served. Otherwise the model stays as it is, and `unserved` says where
// not. What a caller gives that is none of the texts is -1, which no comparison finds; so a text of an input
// may be compared and looked up, and never becomes an output. Strings inside of functions and of graphs of
// attributes are not looked at. A model without strings stays as it is. kInvalidArgument: a tensor of strings
// has another number of them than its shape says.
Result<InternedStrings> internStrings(Model& model);

}  // namespace kiln::onnx
