// Activations that operators of com.microsoft have inside.
#pragma once

#include "compiler_core/frontend/onnx/graph/node_context.h"

namespace kiln::onnx {

// The activation called `name` ("" is none) with its parameters in the order alpha, beta; what is missing has
// ONNX's default. kUnimplemented where it is not served.
Result<Value> activated(NodeContext& node, Value value, const std::string& name,
                        const std::vector<float>& parameters);

}  // namespace kiln::onnx
