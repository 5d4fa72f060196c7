// Attention behind its projections, as Attention and QAttention of com.microsoft have it.
#pragma once

#include "compiler_core/frontend/onnx/operators/heads.h"

namespace kiln::onnx {

struct Projected {
  Value qkv;   // [batch, length, sum of `sizes`]: query, key and value side by side
  Dims sizes;  // of the three, heads * size of a head each
  Value mask;  // null: none
  Value past;  // [2, batch, heads, length, size of a head], or null
  Value bias;  // added to the scores, or null
};
// The output and, where the node wants it, the present. Reads the attributes num_heads, scale,
// mask_filter_value and unidirectional; refuses the others of the two operators by name.
Result<Values> projectedAttention(NodeContext& node, const Projected& given);

}  // namespace kiln::onnx
