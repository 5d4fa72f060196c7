// A module of symbolic shape -> the same for one shape profile.
#pragma once

#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/profile.h"

namespace kiln::transforms {

// Replaces each symbol whose range is one number by that number, in types and attributes, and notes the
// profile on
// @main where symbols are left. `given`: one range per symbol that the caller gives, in their order; what the
// program finds out is at most its bound.
void specialise(mlir::ModuleOp module, llvm::ArrayRef<ir::SymbolRange> given);

}  // namespace kiln::transforms
