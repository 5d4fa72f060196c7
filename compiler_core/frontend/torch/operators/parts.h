// Parts of tensors along a dimension.
#pragma once

#include "compiler_core/frontend/torch/operators/context.h"

namespace kiln::torch {

// Offset and number of the elements of a dimension, every `step`-th of them.
struct Part {
  Dim offset = 0, size = 0;
  std::int64_t step = 1;
};
// Python's slice: negative positions count from the end, all are clamped into the dimension. kUnimplemented
// where symbols leave open which way a clamp goes.
Result<Part> sliced(const NodeContext& node, const Dim& extent, const Dim& start, const Dim& end,
                    std::int64_t step);

// `axis` is normal. The part must lie inside.
Result<Value> partOf(NodeContext& node, Value value, std::int64_t axis, const Part& part);
// `value` with `replacement` in the place of the part.
Result<Value> withPart(NodeContext& node, Value value, std::int64_t axis, const Part& part,
                       Value replacement);

}  // namespace kiln::torch
