#include "compiler_core/ir/ir.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {
namespace {

class HoistInvariants : public mlir::PassWrapper<HoistInvariants, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HoistInvariants)
  llvm::StringRef getArgument() const final { return "kiln-hoist-invariants"; }
  llvm::StringRef getDescription() const final { return "What a loop repeats in vain is done before it"; }

  void runOnOperation() final {
    // Inner loops come first, so that what leaves them can leave the outer ones as well.
    getOperation().walk([](ir::LoopOp loop) { hoist(loop); });
  }

 private:
  static void hoist(ir::LoopOp loop) {
    for (mlir::Operation& operation :
         llvm::make_early_inc_range(loop.getBody().front().without_terminator())) {
      const bool invariant = operation.getNumRegions() == 0 && mlir::isPure(&operation) &&
                             llvm::none_of(operation.getOperands(), [&](mlir::Value operand) {
                               return loop.getBody().isAncestor(operand.getParentRegion());
                             });
      if (invariant) operation.moveBefore(loop);
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> createHoistInvariantsPass() {
  return std::make_unique<HoistInvariants>();
}

}  // namespace kiln::transforms
