// Positions in flattened tensors, calculated by the graph itself: how operators that index with tensors
// become one kiln.gather or kiln.scatter.
#pragma once

#include "compiler_core/frontend/graph/graph_builder.h"

namespace kiln::frontend {

// An extent as a scalar i64.
Result<Value> extentValue(GraphBuilder& node, const Dim& extent);
// value * factor + addend, each an i64 tensor or scalar.
Result<Value> timesExtent(GraphBuilder& node, Value value, const Dim& factor);

// `indices` as i64, negative ones counted from the end of `extent`.
Result<Value> countFromEnd(GraphBuilder& node, Value indices, const Dim& extent);
// Where 0 <= position < extent holds, i1.
Result<Value> isInside(GraphBuilder& node, Value position, const Dim& extent);
// `position` where `condition` holds, else -1: what kiln.scatter ignores.
Result<Value> orNowhere(GraphBuilder& node, Value condition, Value position);

// The row-major position of the element whose coordinate in dimension d of `shape` is coordinates[d]; all
// broadcast together.
Result<Value> flatPosition(GraphBuilder& node, mlir::ValueRange coordinates, llvm::ArrayRef<Dim> shape);

// Coordinate `axis` of every element of `shape`, i64.
Result<Value> coordinate(GraphBuilder& node, llvm::ArrayRef<Dim> shape, std::int64_t axis);

// The one dimension `extent` of `value` laid along dimension `axis` of rank `rank`, the others 1.
Result<Value> alongAxis(GraphBuilder& node, Value value, std::int64_t axis, std::int64_t rank);

// The first `count` along `axis`: a slice where the count is a constant, else kiln.truncate with a symbol of
// its own.
Result<Value> firstOf(GraphBuilder& node, Value value, Value count, std::int64_t axis);

}  // namespace kiln::frontend
