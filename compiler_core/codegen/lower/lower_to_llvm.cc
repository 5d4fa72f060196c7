#include "compiler_core/codegen/lower/passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace kiln::codegen {

void addLowerToLlvm(mlir::OpPassManager& passes, bool scalarMath) {
  using namespace mlir;
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createMathToCallsPass(scalarMath));
  passes.addPass(createLibraryCallsPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertToLlvmPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

}  // namespace kiln::codegen
