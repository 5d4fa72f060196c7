// Sliding windows of convolution and pooling: ONNX's attributes resolved to explicit numbers.
#pragma once

#include "compiler_core/frontend/onnx/graph/node_context.h"

namespace kiln::onnx {

// One entry per spatial dimension, one to three of them.
struct Window {
  Dims kernel, strides, dilations;
  Dims before, after;  // padding as declared or derived from auto_pad
  Dims extra;          // what ceil_mode adds behind `after`

  std::size_t rank() const { return kernel.size(); }
  // As operations take it: `extra` is padding at the end.
  GraphBuilder::Slide slide() const;
  bool cutOff() const {
    return llvm::any_of(extra, [](std::int64_t e) { return e != 0; });
  }
};

// How many spatial dimensions the input has: rank - 2, from one to three; kUnimplemented for more,
// kInvalidArgument for less.
Result<std::size_t> spatialRank(Value input);

// Reads strides, dilations, pads and auto_pad (and ceil_mode if `ceil` is set) for a window of `kernel` over
// `spatial`, the input's spatial extents. kUnimplemented where the padding would depend on an extent that is
// known at run time only.
Result<Window> readWindow(NodeContext& node, llvm::ArrayRef<std::int64_t> kernel, llvm::ArrayRef<Dim> spatial,
                          bool ceil);

// Extents of what a window makes of `spatial`.
Shape windowResult(const Window& window, llvm::ArrayRef<Dim> spatial);

}  // namespace kiln::onnx
