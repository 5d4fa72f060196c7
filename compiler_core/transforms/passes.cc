#include "compiler_core/transforms/passes.h"

#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

#define GEN_PASS_REGISTRATION
#include "compiler_core/transforms/passes.h.inc"

void registerPasses(ir::WeightTable& weights) {
  registerRewritePasses();
  ir::WeightTable* table = &weights;
  mlir::registerPass([table] { return createFoldConstantsPass(*table); });
  mlir::registerPass([table] { return createFoldBatchNormPass(*table); });
  mlir::registerPass([table] { return createByteProductsPass(*table); });
  mlir::registerPass([table] { return createSeedWeightsPass(*table); });
}

}  // namespace kiln::transforms
