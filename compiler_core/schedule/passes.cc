#include "compiler_core/schedule/passes.h"

#include "mlir/Pass/Pass.h"

namespace kiln::schedule {

void registerPasses() {
  mlir::registerPass([] { return createLowerToLinalgPass(); });
  mlir::registerPass([] { return createFuseElementwisePass(); });
  mlir::registerPass([] { return createTilePass(); });
  mlir::registerPass([] { return createVectorizePass(); });
  mlir::registerPass([] { return createMapToGpuPass(); });
}

}  // namespace kiln::schedule
