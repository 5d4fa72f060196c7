// MLIR's diagnostics in the words of a user.
#pragma once

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

namespace kiln::analysis {

// As Diagnostic::str, but types are written as everywhere else: "f32[N,4]" with the names of the symbols of
// the module that `place` is or stands in, never with the maps that stand in MLIR's own text, extents as
// ir::wordsOf() has them, and an operation of the dialect is not named. `place` may be null.
std::string diagnosticText(mlir::Diagnostic& diagnostic, mlir::Operation* place);

}  // namespace kiln::analysis
