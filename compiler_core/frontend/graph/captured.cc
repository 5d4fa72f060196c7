#include "compiler_core/frontend/graph/captured.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

namespace kiln::frontend {

void prepareContext(mlir::MLIRContext& context) {
  context.disableMultithreading();
  // Errors name the place of an operation and do not print it: the dialect's attributes have no printer of
  // their own, which MLIR's form of an operation that does not verify would call.
  context.printOpOnDiagnostic(false);
  context.loadDialect<ir::KilnDialect, mlir::func::FuncDialect>();
}

}  // namespace kiln::frontend
