// Sliding windows of convolution and pooling: ONNX's attributes resolved to explicit numbers. One-dimensional
// windows become two-dimensional ones of height 1.
#pragma once

#include "compiler_core/frontend/onnx/node_context.h"

namespace kiln::onnx {

struct Window {
  Dims kernel, strides, dilations;  // [height, width]
  Dims pads;                        // [top, left, bottom, right]
  Dims extra;                       // what ceil_mode added at [bottom, right]
};

// Reads strides, dilations, pads and auto_pad (and ceil_mode if `ceil` is set) for a window of `kernel` over
// `spatial`, the input's spatial extents; both have 1 or 2 entries. kUnimplemented for other ranks.
Result<Window> readWindow(NodeContext& node, llvm::ArrayRef<std::int64_t> kernel,
                          llvm::ArrayRef<std::int64_t> spatial, bool ceil);

// [N, C, L] -> [N, C, 1, L]; rank 4 stays. kUnimplemented for other ranks.
Result<Value> asPlanes(NodeContext& node, Value value);
// The inverse, for a result of an input of `rank`.
Result<Value> fromPlanes(NodeContext& node, Value value, std::int64_t rank);

}  // namespace kiln::onnx
