// Arithmetic that other families need as well.
#pragma once

#include "compiler_core/frontend/stablehlo/operations/context.h"

namespace kiln::stablehlo {

// As StableHLO has it for every element type: of i1, add and max are `or`, mul and min are `and`; integers
// below a byte wrap. The operands broadcast together.
Result<Value> combine(OperationContext& op, ir::BinaryKind kind, Value lhs, Value rhs);

// Integers in the total order of the floats: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN.
Result<Value> totalOrderKey(OperationContext& op, Value value);

}  // namespace kiln::stablehlo
