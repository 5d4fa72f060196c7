// Products of matrices.
#pragma once

#include "compiler_core/frontend/torch/operators/context.h"

namespace kiln::torch {

// torch.matmul: vectors gain a dimension, batch dimensions are broadcast, a shared matrix makes one large
// product. Operands are of one type.
Result<Value> matmulOf(NodeContext& node, Value left, Value right);

}  // namespace kiln::torch
