// What the operations with shapes as attributes share with those that have them as operands.
#pragma once

#include "compiler_core/frontend/stablehlo/operations/context.h"

namespace kiln::stablehlo {

// Dimension i of the input is dimension dims[i] of the result; the others repeat it. `dims` are distinct
// dimensions of the result.
Result<Value> broadcastAlong(OperationContext& op, Value input, llvm::ArrayRef<std::int64_t> dims,
                             llvm::ArrayRef<Dim> shape);
// The integers that operand number `operand` holds, as expressions over sizes. kUnimplemented where they
// depend on values, kInvalidArgument where they are not `count`.
Result<Shape> sizesIn(OperationContext& op, std::size_t operand, std::string_view what, std::size_t count);
Result<Value> reversed(OperationContext& op, Value input, llvm::ArrayRef<std::int64_t> dims);
// Of the operation's element type.
Result<Value> iotaOf(OperationContext& op, llvm::ArrayRef<Dim> shape, std::int64_t axis);
// From `starts` on, before `limits`, both within the operand.
Result<Value> sliceBetween(OperationContext& op, Value input, llvm::ArrayRef<Dim> starts,
                           llvm::ArrayRef<Dim> limits, llvm::ArrayRef<std::int64_t> strides);

}  // namespace kiln::stablehlo
