// Updates of rows, by any body.
#pragma once

#include "compiler_core/frontend/stablehlo/operations/body.h"

namespace kiln::stablehlo {

// Tensors [R, S...] with rows `positions` (i64 [N]; -1: none) combined with `updates` [N, S...] by `body`, in
// order. `areUnique`: no position is there twice.
Result<Values> updateRows(OperationContext& op, const Region& body, const Values& data, Value positions,
                          const Values& updates, bool areUnique);

}  // namespace kiln::stablehlo
