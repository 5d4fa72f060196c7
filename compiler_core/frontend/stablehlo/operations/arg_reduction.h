// Reductions to the position of the largest or smallest element, as JAX writes argmax and argmin.
#pragma once

#include <optional>

#include "compiler_core/frontend/stablehlo/operations/context.h"

namespace kiln::stablehlo {

// Max or Min where the body of two pairs (value, position) takes the larger or smaller value, of equals that
// at the smaller position, and a NaN before any number; nullopt for any other body.
std::optional<ir::ReduceKind> argKindOf(const Region& body);

// Both results of such a reduction, where `positions` counts along `axis` and the start values change
// nothing; none where they are others.
Result<Values> argReduced(OperationContext& op, ir::ReduceKind kind, llvm::ArrayRef<Value> inputs,
                          llvm::ArrayRef<Value> starts, std::int64_t axis);

}  // namespace kiln::stablehlo
