// The requirements of a model that its user has to meet, found without compiling it. No MLIR.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler_core/frontend/onnx/reader/model.h"
#include "compiler_core/frontend/onnx/reader/unserved_node.h"

namespace kiln::onnx {

// A dimension that the model leaves open, by the name that profiles give it ("x.0" where it has none), where
// it stands first.
struct OpenDimension {
  std::string name, input;
  std::size_t index = 0;
};

// An integer, bool or single float among the inputs whose value decides shapes, or which branch can run.
struct DecidingInput {
  std::string name;
  std::size_t elements = 1;  // 0: as many as the user likes
  std::int64_t example = 1;  // for each element: what the model compares it with, if that is an integer
  std::string node;          // one that it decides
  bool certain = true;       // false: only where the branches of an If differ, or not all of them can run
};

struct Requirements {
  std::vector<OpenDimension> dimensions;  // each once, in the order of the inputs
  std::vector<DecidingInput> pins;        // in the order of the inputs
  std::vector<std::string> sequences;     // inputs of sequence or optional type
  std::vector<UnservedNode> unserved;     // inputs, then the rest in the graph's order
};

// As far as names and types tell: what shape inference or a kernel refuses shows in the compile only. Inputs
// that have an initializer are constants.
Requirements requirementsOf(const Model& model);

}  // namespace kiln::onnx
