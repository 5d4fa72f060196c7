// Rewrites on the kiln dialect, one pass per file. Passes that make constants put large ones into the weight
// table that travels beside the module; the table outlives the pass.
#pragma once

#include <memory>

#include "compiler_core/ir/weight_table.h"

namespace mlir {
class Pass;
}

namespace kiln::transforms {

// passes.td says what they do.
#define GEN_PASS_DECL
#include "compiler_core/transforms/passes.h.inc"

// weight_passes.td says what these do.
std::unique_ptr<mlir::Pass> createFoldConstantsPass(ir::WeightTable& weights);
std::unique_ptr<mlir::Pass> createFoldBatchNormPass(ir::WeightTable& weights);
std::unique_ptr<mlir::Pass> createByteProductsPass(ir::WeightTable& weights);
std::unique_ptr<mlir::Pass> createSeedWeightsPass(ir::WeightTable& weights);

// Makes all of them known to kiln-opt. Passes of one command line share `weights`, which must outlive them.
void registerPasses(ir::WeightTable& weights);

}  // namespace kiln::transforms
