#include "compiler_core/frontend/graph/captured.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

namespace kiln::frontend {

void prepareContext(mlir::MLIRContext& context) {
  context.disableMultithreading();
  context.loadDialect<ir::KilnDialect, mlir::func::FuncDialect>();
}

}  // namespace kiln::frontend
