// @main as the run function of a profile or partition: what both ways of outlining kernels have in common.
// Private to compiler_core/codegen/lower.
#pragma once

#include <array>
#include <string>

#include "compiler_core/codegen/lower/buffers.h"
#include "compiler_core/codegen/lower/passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::codegen {

// A C identifier for perf and gdb, from the loop's kiln.kernel (may be null): "conv1/Conv" becomes
// conv1_Conv.
std::string symbolFor(mlir::DictionaryAttr kernel, const Unit& unit, unsigned index);

// The parallel loops of @main, outermost ones only, in order.
llvm::SmallVector<mlir::scf::ForallOp> parallelLoops(mlir::func::FuncOp main);

class RunFunction {
 public:
  // `main` gets the ABI's arguments in front, and the unit's @kiln_shapes_<unit> stands before it.
  RunFunction(mlir::func::FuncOp main, const Unit& unit);

  const std::array<mlir::Value, kPointers>& pointers() const { return pointers_; }
  // What is left in @main finds its buffers, made behind `top`; the old arguments go, the results are stored
  // and @main becomes @kiln_run_<unit>.
  mlir::LogicalResult finish(mlir::Operation* top);

 private:
  void addShapes();

  mlir::func::FuncOp main_, shapes_;
  Unit unit_;
  std::array<mlir::Value, kPointers> pointers_{};
};

}  // namespace kiln::codegen
