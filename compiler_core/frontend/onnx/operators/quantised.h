// Values in small types by scale and zero point.
#pragma once

#include "compiler_core/frontend/onnx/graph/node_context.h"

namespace kiln::onnx {

// round(value) + zero point, saturating unless `saturate` is false and `element` is a float of 8 bits; small
// floats take the quotient as it is. `value` is f32 or f64; `zero` may be null.
Term quantised(NodeContext& node, const Term& value, const Term* zero, mlir::Type element, bool saturate);

// x - zero point in i32 (or, for small floats, in f32); `zero` may be null.
Result<Value> centred(NodeContext& node, Value x, Value zero);

struct DynamicallyQuantised {
  Term result, scale, zero;
};
// To u8 over the range of the data, which always holds 0.
DynamicallyQuantised dynamicallyQuantised(NodeContext& node, Value input);

}  // namespace kiln::onnx
