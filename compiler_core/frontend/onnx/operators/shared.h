// Operators that others are built upon.
#pragma once

#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {

// A formula of several steps on f16 or bf16, calculated in f32 and rounded once.
template <ImportFunction import>
Result<Values> inF32(NodeContext& node) {
  KILN_ASSIGN(mlir::Type small, node.widenInputs());
  KILN_ASSIGN(Values results, import(node));
  if (!small) return results;
  for (Value& result : results)
    if (elementOf(result).isF32()) {
      KILN_ASSIGN(result, node.cast(result, small));
    }
  return results;
}

// numpy's matmul: vectors gain a dimension, batch dimensions are broadcast, a shared matrix makes one large
// product.
Result<Value> matmulOf(NodeContext& node, Value lhs, Value rhs);

// Conv with the attributes of `node`; `bias` may be null.
Result<Value> convolutionOf(NodeContext& node, Value input, Value filter, Value bias);

// log(softmax) along one axis.
Result<Value> logSoftmaxOf(NodeContext& node, Value input, std::int64_t axis);

}  // namespace kiln::onnx
