#include "compiler_core/frontend/onnx/operators/operators.h"

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
                      recurrentOperators(),   mlEncoderOperators(),   mlFeatureOperators(),
                      mlLinearOperators(),    mlSvmOperators(),       mlTreeOperators()})
    rows.insert(rows.end(), family.begin(), family.end());
  llvm::append_range(rows, contribOperators());
  return rows;
}

const Operator* findOperator(std::string_view domain, std::string_view name, std::int64_t opset,
                             std::string& reason) {
  static const std::vector<Operator> rows = allOperators();
  for (const Operator& row : rows)
    if (row.domain == domain && row.name == name && opset >= row.since && opset <= row.until) return &row;
  reason = whyNotServed(domain, name, opset);
  return nullptr;
}

}  // namespace kiln::onnx
