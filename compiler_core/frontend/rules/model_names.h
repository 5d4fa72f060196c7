// Whether the rules of the partition stage name something that a model has. No MLIR.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "manifest/spec/partition_rules.h"

namespace kiln::frontend {

struct ModelNames {
  std::set<std::string> operators;  // "Conv", "com.example:Op", wherever they stand
  std::vector<std::string> nodes;   // of the graph itself
  // Those that hold others, and those others: "outer/.../inner".
  std::vector<std::string> outer, inner;
};

// One sentence for each pattern and operator of the rules that no node of the model has, naming the option
// and what is near. A name inside a call or a body counts where one could be called so: how often a loop is
// unrolled shows in the compile alone.
std::vector<std::string> unknownNames(const ModelNames& names, const PartitionRules& rules);

}  // namespace kiln::frontend
