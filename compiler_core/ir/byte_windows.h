// Depthwise convolutions of bytes whose window rows fit one packed dot operand: what the rewrites make of
// dequantised factors, and the lowering of packed operands, for targets with dot products of bytes.
#pragma once

#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/ir.h"

namespace kiln::ir {

// Rows of a window that one packed operand of 32 bits holds.
inline constexpr std::int64_t kMostWindowRows = 4;

// Whether each channel of a two-dimensional convolution has one filter of its own, of a known size and of
// few enough rows. Says nothing of element types.
inline bool isRowWindow(ConvOp conv) {
  const Shape filter = shapeOf(llvm::cast<mlir::RankedTensorType>(conv.getFilter().getType()));
  return conv.getGroup() > 1 && filter.size() == 4 && filter[0] == Dim(conv.getGroup()) &&
         filter[1] == Dim(1) && filter[2].isStatic() && filter[3].isStatic() &&
         filter[2].value() <= kMostWindowRows;
}

}  // namespace kiln::ir
