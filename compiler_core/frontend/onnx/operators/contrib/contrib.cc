#include "compiler_core/frontend/onnx/operators/contrib/contrib.h"

namespace kiln::onnx {

std::vector<Operator> contribOperators() {
  std::vector<Operator> rows;
  for (auto family : {contribActivationOperators(), contribAttentionOperators(), contribGroupQueryOperators(),
                      contribLinearOperators(), contribNormalizationOperators()})
    rows.insert(rows.end(), family.begin(), family.end());
  return rows;
}

}  // namespace kiln::onnx
