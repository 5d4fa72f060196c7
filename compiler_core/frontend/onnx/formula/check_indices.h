// How ONNX wants indices to lie in a dimension.
#pragma once

#include "compiler_core/frontend/onnx/graph/node_context.h"

namespace kiln::onnx {

// The rule of ONNX for `indices` into a dimension, which lie from -extent to extent - 1: kInvalidArgument
// where one is known to lie outside; where that is open the program counts them.
Status checkIndices(NodeContext& node, Value indices, const Dim& extent);

}  // namespace kiln::onnx
