// Windows that a custom call describes.
#pragma once

#include "compiler_core/frontend/stablehlo/operations/context.h"

namespace kiln::stablehlo {

// custom_call @stablehlo.dynamic_reduce_window, as JAX writes a running sum over a dimension whose size is a
// symbol: operand, start value, then the window's sizes, strides, base dilations, dilations and padding; the
// body is the function that called_computations names. Other windows are kUnimplemented.
Result<Values> dynamicReduceWindow(OperationContext& op);

}  // namespace kiln::stablehlo
