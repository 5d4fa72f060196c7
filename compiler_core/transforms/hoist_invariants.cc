#include "compiler_core/ir/ir.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

#define GEN_PASS_DEF_HOISTINVARIANTSPASS
#include "compiler_core/transforms/passes.h.inc"

namespace {

class HoistInvariants : public impl::HoistInvariantsPassBase<HoistInvariants> {
 public:
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

}  // namespace kiln::transforms
