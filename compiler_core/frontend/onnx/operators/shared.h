// Operators that others are built upon.
#pragma once

#include "compiler_core/frontend/onnx/node_context.h"

namespace kiln::onnx {

// numpy's matmul: vectors gain a dimension, batch dimensions are broadcast, a shared matrix makes one large product.
Result<Value> matmulOf(NodeContext& node, Value lhs, Value rhs);

// Conv with the attributes of `node`; `bias` may be null.
Result<Value> convolutionOf(NodeContext& node, Value input, Value filter, Value bias);

// log(softmax) along one axis.
Result<Value> logSoftmaxOf(NodeContext& node, Value input, std::int64_t axis);

}  // namespace kiln::onnx
