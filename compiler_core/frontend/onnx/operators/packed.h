// Matrices of weights that stay packed (kiln.dequantise).
#pragma once

#include <optional>

#include "compiler_core/frontend/onnx/graph/node_context.h"

namespace kiln::onnx {

// What DequantizeLinear makes of a matrix that is part of the model: `scale` and `zero` (null: none) have one
// entry per block of `block` along `axis`, or with `block` 0 per index of `axis`. In f32. nullopt where the
// matrix does not stay packed: it is no constant, neither in blocks nor below a byte, no matrix, or what
// stands beside it is of another type or shape; then the caller calculates.
Result<std::optional<Value>> packedMatrix(NodeContext& node, Value x, Value scale, Value zero,
                                          std::int64_t axis, std::int64_t block);

}  // namespace kiln::onnx
