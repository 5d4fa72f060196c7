// Sorting that custom calls need as well.
#pragma once

#include "compiler_core/frontend/stablehlo/operations/context.h"

namespace kiln::stablehlo {

// The `count` largest (or smallest) elements along the last dimension in the total order of floats, and where
// they are.
Result<Values> topK(OperationContext& op, std::int64_t count, bool isLargest);

}  // namespace kiln::stablehlo
