// A place of a model that cannot be served.
#pragma once

#include <string>

namespace kiln::onnx {

// An operator of the graph, or as the importer has it in the place of one: an input, an initializer.
struct UnservedNode {
  std::string node, op, reason;  // op with its domain; "(input)", "(output)", "(initializer)"
};

}  // namespace kiln::onnx
