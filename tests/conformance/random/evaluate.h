// The reference evaluator over a model file. No MLIR in this header.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/reference/host_tensor.h"

namespace kiln::conformance::random {

// Outputs in the graph's order for inputs in the graph's order.
Result<std::vector<reference::HostTensor>> evaluate(const std::string& model, const analysis::DimValues& dims,
                                                    const std::vector<reference::HostTensor>& inputs);

// The names of the operators of the table, each once; with "domain:" in front where it is not ONNX's own.
std::vector<std::string> servedOperators();
// Whether what is written about `subject` is about this operator: it is its name, or its domain's and a star.
inline bool isAbout(std::string_view subject, std::string_view name) {
  if (!subject.ends_with(":*")) return subject == name;
  return name.starts_with(subject.substr(0, subject.size() - 1));
}

}  // namespace kiln::conformance::random
