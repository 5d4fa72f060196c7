// Windows of a tensor that indices point at, which gather, scatter and the dynamic slices share.
#pragma once

#include "compiler_core/frontend/stablehlo/operations/context.h"

namespace kiln::stablehlo {

// How indices point into a tensor of shape `shape`: gather's attributes; scatter has the same under other
// names.
struct WindowMap {
  Shape shape;     // of the tensor
  Shape sizes;     // of the window in each dimension of the tensor
  Dims collapsed;  // dimensions of the tensor that windows lack: there they are one element
  Dims batching;   // likewise; they go along with the dimensions `indexBatching` of the indices
  Dims indexBatching;
  Dims startMap;  // in which dimension of the tensor each part of an index counts
  std::int64_t vector =
      0;  // the dimension of the indices along which an index's parts lie; may be their rank
};

// The windows as rows: what they hold in full of the tensor's last dimensions.
struct Rows {
  Shape batch;      // the indices' shape without `vector`
  Dims windowDims;  // the dimensions of the tensor that windows have
  Shape row;        // shape of a row
  Shape places;     // shape of all rows together: batch, and the sizes of the windows' other dimensions
  Dim count;        // rows of the tensor
  Value positions;  // i64 [elements of places]: the number of each row in the tensor
  Value isInside;   // i1, broadcasts to [batch..., 1...]: whether the whole window lies inside; null: always
};

// kInvalidArgument where the numbers do not fit the shapes. With `clamp`, windows are moved so that they lie
// inside.
Result<Rows> rowsOf(OperationContext& op, const WindowMap& map, Value indices, bool clamp);

// Scalars as i64, moved so that a window of `sizes` lies inside of `shape`.
Result<Values> clampedStarts(OperationContext& op, llvm::ArrayRef<Value> starts, llvm::ArrayRef<Dim> shape,
                             llvm::ArrayRef<Dim> sizes);

// The window of `sizes` elements, `strides` apart, that begins at the scalars `starts` and lies inside.
Result<Value> windowAt(OperationContext& op, Value value, llvm::ArrayRef<Value> starts,
                       llvm::ArrayRef<Dim> sizes, llvm::ArrayRef<std::int64_t> strides);

}  // namespace kiln::stablehlo
