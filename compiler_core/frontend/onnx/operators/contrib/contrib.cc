#include "compiler_core/frontend/onnx/operators/contrib/contrib.h"

namespace kiln::onnx {

std::vector<Operator> contribOperators() {
  std::vector<Operator> rows;
  for (auto family : {contribActivationOperators(), contribAttentionOperators(),
                      contribConvolutionOperators(), contribGroupQueryOperators(), contribLinearOperators(),
                      contribNormalizationOperators(), contribQuantisedOperators()})
    rows.insert(rows.end(), family.begin(), family.end());
  return rows;
}

}  // namespace kiln::onnx
