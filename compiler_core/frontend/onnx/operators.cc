#include "compiler_core/frontend/onnx/operators.h"

namespace kiln::onnx {

std::vector<Operator> allOperators() {
  std::vector<Operator> rows;
  for (auto family : {elementwiseOperators(), activationOperators(),  linearOperators(),
                      convolutionOperators(), poolingOperators(),     normalizationOperators(),
                      reductionOperators(),   shapeOperators(),       sliceOperators(),
                      constantOperators(),    generatorOperators(),   indexingOperators(),
                      selectionOperators(),   determinantOperators(), einsumOperators(),
                      featureOperators(),     lossOperators(),        quantizeOperators(),
                      signalOperators(),      trainingOperators(),    linearAttentionOperators(),
                      attentionOperators(),   deformOperators(),      gridOperators(),
                      padOperators(),         rearrangeOperators(),   resizeOperators(),
                      roiOperators(),         controlFlowOperators(), sequenceOperators(),
                      recurrentOperators()})
    rows.insert(rows.end(), family.begin(), family.end());
  return rows;
}

const Operator* findOperator(std::string_view domain, std::string_view name, std::int64_t opset,
                             std::string& reason) {
  static const std::vector<Operator> rows = allOperators();
  const Operator* other = nullptr;
  for (const Operator& row : rows) {
    if (row.domain != domain || row.name != name) continue;
    if (opset >= row.since && opset <= row.until) return &row;
    other = &row;
  }
  if (other)
    reason =
        "served for opset " + std::to_string(other->since) + " to " + std::to_string(other->until) + " only";
  else if (!domain.empty())
    reason = "operators of domain '" + std::string(domain) + "' are not served";
  else
    reason = "this operator is not served yet";
  return nullptr;
}

}  // namespace kiln::onnx
