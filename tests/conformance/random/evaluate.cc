#include "tests/conformance/random/evaluate.h"

#include <set>

#include "compiler_core/frontend/onnx/import/import.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/reference/evaluator.h"

namespace kiln::conformance::random {

Result<std::vector<reference::HostTensor>> evaluate(const std::string& model, const analysis::DimValues& dims,
                                                    const std::vector<reference::HostTensor>& inputs) {
  KILN_ASSIGN(onnx::LoadedModel loaded, onnx::loadModel(model));
  mlir::MLIRContext context;
  frontend::prepareContext(context);
  onnx::ImportOptions options;
  options.dims = dims;
  KILN_ASSIGN(onnx::Captured captured, onnx::importModel(context, loaded, options));
  KILN_ASSIGN(auto results, reference::evaluate(*captured.module, captured.weights, inputs));
  results.resize(captured.outputs.size());  // without the counts of indices
  return results;
}

std::vector<std::string> servedOperators() {
  std::set<std::string> names;
  for (const onnx::Operator& row : onnx::allOperators())
    names.insert((row.domain.empty() ? "" : std::string(row.domain) + ":") + std::string(row.name));
  return {names.begin(), names.end()};
}

}  // namespace kiln::conformance::random
