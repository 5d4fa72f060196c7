// Whether the rules of the partition stage name something that the model has. No MLIR.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/frontend/onnx/reader/model.h"
#include "manifest/spec/partition_rules.h"

namespace kiln::onnx {

// As unknownNames() of rules/model_names.h has it.
std::vector<std::string> unknownNames(const Model& model, const PartitionRules& rules);

}  // namespace kiln::onnx
