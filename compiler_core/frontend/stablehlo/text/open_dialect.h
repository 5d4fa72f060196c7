// The dialects of StableHLO's text, for MLIR's parser only: operations, attributes and types stay
// unregistered, their custom syntax is read by operation_syntax.h and attribute_syntax.h.
#pragma once

#include "mlir/IR/Dialect.h"
#include "mlir/IR/MLIRContext.h"

namespace kiln::stablehlo {

// Loads stablehlo, chlo, check, interpreter, func and whatever else readText() needs into `context`, and
// allows generic operations of dialects that it lacks.
void loadTextDialects(mlir::MLIRContext& context);

}  // namespace kiln::stablehlo
