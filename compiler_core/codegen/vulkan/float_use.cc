#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

#include "compiler_core/codegen/vulkan/internal.h"

namespace kiln::codegen {
namespace {

bool isSum(const llvm::Instruction& op) {
  return op.getOpcode() == llvm::Instruction::FAdd || op.getOpcode() == llvm::Instruction::FSub;
}

// Through choices and loops: optimised code is unrolled in part, so a chain may be either.
bool isPartOfChain(const llvm::Value* value) {
  if (llvm::isa<llvm::PHINode>(value) || llvm::isa<llvm::SelectInst>(value)) return true;
  const auto* op = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return op != nullptr && op->getOpcode() == llvm::Instruction::FMul;
}

}  // namespace

FloatUse floatUseOf(const llvm::Function& kernel) {
  FloatUse use;
  llvm::SmallPtrSet<const llvm::Function*, 16> known{&kernel};
  llvm::SmallVector<const llvm::Function*> open{&kernel};
  while (!open.empty()) {
    const llvm::Function& function = *open.pop_back_val();
    const bool isKernel = &function == &kernel;
    for (const llvm::Instruction& op : llvm::instructions(function)) {
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&op)) {
        const llvm::Function* callee = call->getCalledFunction();
        if (callee != nullptr && !callee->isDeclaration() && known.insert(callee).second)
          open.push_back(callee);
        continue;
      }
      const bool isProduct = op.getOpcode() == llvm::Instruction::FMul;
      if (!isSum(op) && !isProduct) continue;
      use.onDoubles |= op.getType()->getScalarType()->isDoubleTy();
      use.sums |= isSum(op);
      if (!isKernel) continue;
      use.ownSums |= isSum(op);
      use.productsOfProducts |=
          isProduct && (isPartOfChain(op.getOperand(0)) || isPartOfChain(op.getOperand(1)));
    }
  }
  return use;
}

}  // namespace kiln::codegen
