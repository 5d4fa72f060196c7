#include "compiler_core/transforms/passes.h"

#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

void registerPasses(ir::WeightTable& weights) {
  ir::WeightTable* table = &weights;
  mlir::registerPass([table] { return createFoldConstantsPass(*table); });
  mlir::registerPass([table] { return createFoldBatchNormPass(*table); });
  mlir::registerPass([table] { return createByteProductsPass(*table); });
  mlir::registerPass([] { return createQuantisedProductsPass(); });
  mlir::registerPass([] { return createHoistInvariantsPass(); });
  mlir::registerPass([] { return createSinkTransposesPass(); });
  mlir::registerPass([] { return createSinkReshapesPass(); });
  mlir::registerPass([] { return createRecogniseAttentionPass(); });
  mlir::registerPass([] { return createWidenPass(); });
  mlir::registerPass([] { return createDecomposePass(); });
  mlir::registerPass([] { return createSimplifyPass(); });
  mlir::registerPass([] { return createFormGroupsPass(); });
  mlir::registerPass([table] { return createSeedWeightsPass(*table); });
}

}  // namespace kiln::transforms
