// What bodies of reductions, scatters and comparisons do, as far as it is known by sight.
#pragma once

#include "compiler_core/frontend/stablehlo/operations/context.h"

namespace kiln::stablehlo {

enum class Combine { kAdd, kMul, kMin, kMax, kAnd, kOr, kXor, kSecond, kOther };

// What a body of two scalars gives: one operation on both, or the second one. On i1 the four arithmetic ones
// are `and` and `or`.
Combine combineOf(OperationContext& op, const Region& region);

// Of kAdd to kXor.
ir::BinaryKind binaryKind(Combine combine);

// Whether combining with `value` (a scalar) changes nothing.
bool isNeutral(OperationContext& op, Combine combine, Value value);

// Combines lists of tensors of one shape element by element.
using Combiner = llvm::function_ref<Result<Values>(const Values& before, const Values& behind)>;

// Dimension 0 of the tensors, which has at least one element, is combined away, neighbours first, so that the
// order is kept.
Result<Values> combineRows(OperationContext& op, Values inputs, Combiner combine);

}  // namespace kiln::stablehlo
