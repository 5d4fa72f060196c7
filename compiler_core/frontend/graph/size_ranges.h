// What sizes can be over all profiles of a module.
#pragma once

#include <optional>

#include "compiler_core/ir/dims.h"
#include "mlir/IR/Operation.h"

namespace kiln::frontend {

// What `dim` can be over all profiles of the module that `place` is or stands in; nullopt where nothing
// bounds it. Closer than ir::rangeOf where a sum has one size in several terms, one of them rounded: N -
// floor(N / 2) is never negative.
std::optional<ir::Range> rangeOf(const ir::Dim& dim, mlir::Operation* place);

}  // namespace kiln::frontend
