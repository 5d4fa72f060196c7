#include "compiler_core/codegen/lower/passes.h"

#include "mlir/Pass/Pass.h"

namespace kiln::codegen {

void registerPasses() {
  mlir::registerPass([] { return createOutlineKernelsPass(); });
  mlir::registerPass([] { return createOutlineDeviceKernelsPass(); });
  mlir::registerPass([] { return createJoinPartitionsPass(); });
  mlir::registerPass([] { return createShareKernelsPass(); });
  mlir::registerPass([] { return createMathToCallsPass(); });
  mlir::registerPass([] { return createLibraryCallsPass(); });
}

}  // namespace kiln::codegen
