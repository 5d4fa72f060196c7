// kiln-fold-constants for models whose weights do not fit into memory.
#pragma once

#include <memory>
#include <string>

#include "compiler_core/ir/weight_table.h"

namespace mlir {
class Pass;
}

namespace kiln::transforms {

// createFoldConstantsPass (passes.h); large results go to `spool` (ir/spooled_weight.h).
std::unique_ptr<mlir::Pass> createFoldConstantsPass(ir::WeightTable& weights, const std::string& spool);

}  // namespace kiln::transforms
