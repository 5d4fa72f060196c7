// Whether the rules of the partition stage name something that the model has. No MLIR.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/frontend/onnx/reader/model.h"
#include "manifest/spec/partition_rules.h"

namespace kiln::onnx {

// One sentence for each pattern and operator of the rules that no node of the model has, naming the option
// and what is near. A name inside a call or a body counts where one could be called so: how often a loop is
// unrolled shows in the compile alone.
std::vector<std::string> unknownNames(const Model& model, const PartitionRules& rules);

}  // namespace kiln::onnx
