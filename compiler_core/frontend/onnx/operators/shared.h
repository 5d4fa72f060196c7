// Operators that others are built upon.
#pragma once

#include "compiler_core/frontend/onnx/graph/node_context.h"
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

// alpha * A' * B' + beta * C with the inputs and attributes of `node`.
Result<Value> gemmOf(NodeContext& node);

// AveragePool and MaxPool with the attributes of `node`.
Result<Value> averagePoolOf(NodeContext& node, Value input);
Result<Value> maxPoolOf(NodeContext& node, Value input);

struct Normal {
  Term mean, inverse, result;
};
// inverse = 1 / sqrt(variance over `axes` + epsilon), result = (x - mean) * inverse; x is of the type in
// which statistics are made.
Normal normalized(const Term& x, llvm::ArrayRef<std::int64_t> axes, double epsilon);

struct CacheWrite {
  Value cache, update;
  Value starts;  // one per sample of the batch, or null: 0
};
// `cache` with `update` in place of what stands along `axis` from `starts` on, beginning again at its front
// where `circular`; the program counts positions outside.
Result<Value> writtenAt(NodeContext& node, const CacheWrite& write, std::int64_t axis, bool circular);

// Conv with the attributes of `node`; `bias` may be null.
Result<Value> convolutionOf(NodeContext& node, Value input, Value filter, Value bias);

// log(softmax) along one axis.
Result<Value> logSoftmaxOf(NodeContext& node, Value input, std::int64_t axis);

}  // namespace kiln::onnx
