// What the operations with shapes as attributes share with those that have them as operands.
#pragma once

#include "compiler_core/frontend/stablehlo/operations/context.h"

namespace kiln::stablehlo {

// Dimension i of the input is dimension dims[i] of the result; the others repeat it. `dims` are distinct
// dimensions of the result.
Result<Value> broadcastAlong(OperationContext& op, Value input, llvm::ArrayRef<std::int64_t> dims,
                             llvm::ArrayRef<std::int64_t> shape);
Result<Value> reversed(OperationContext& op, Value input, llvm::ArrayRef<std::int64_t> dims);
// Of the operation's element type.
Result<Value> iotaOf(OperationContext& op, llvm::ArrayRef<std::int64_t> shape, std::int64_t axis);

}  // namespace kiln::stablehlo
