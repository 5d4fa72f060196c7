// How torch finds the type in which operands of different types meet. Source: torch's documentation of tensor
// attributes, "type promotion".
#pragma once

#include "compiler_core/frontend/torch/operators/context.h"

namespace kiln::torch {

// The type in which the arguments `names` (tensors or numbers) meet: that of the highest category (booleans,
// integers, floats), in it the widest of tensors with dimensions, else of scalars' tensors, else of numbers.
Result<mlir::Type> promotedType(NodeContext& node, llvm::ArrayRef<std::string_view> names);
// The declared result's type, half precision as f32: for formulas whose row is Precision::kWidened.
Result<mlir::Type> calculatedType(NodeContext& node);

}  // namespace kiln::torch
