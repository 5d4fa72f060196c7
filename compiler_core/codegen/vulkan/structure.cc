#include <fmt/format.h>

#include "compiler_core/codegen/vulkan/internal.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

namespace kiln::codegen {
namespace {

class Structure {
 public:
  explicit Structure(llvm::Function& function) : function_(function) {}

  Result<Merges> run() {
    {
      llvm::DominatorTree dominators(function_);
      llvm::LoopInfo loops(dominators);
      for (llvm::Loop* loop : loops.getLoopsInPreorder()) KILN_TRY(giveLoop(*loop));
    }
    llvm::DominatorTree dominators(function_);
    llvm::PostDominatorTree after(function_);
    // What lies deeper comes first, so that a selection finds the ones inside of it with their own end.
    llvm::SmallVector<llvm::BasicBlock*> branches;
    for (llvm::DomTreeNode* node : llvm::post_order(dominators.getRootNode())) {
      llvm::BasicBlock* block = node->getBlock();
      const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
      if (branch && branch->isConditional() && !latches_.contains(block)) branches.push_back(block);
    }
    for (llvm::BasicBlock* block : branches) {
      const llvm::DomTreeNode* meeting = after.getNode(block)->getIDom();
      if (!meeting || !meeting->getBlock()) return refused("two paths do not meet again");
      giveSelection(*block, *meeting->getBlock(), dominators);
    }
    return std::move(merges_);
  }

 private:
  tl::unexpected<Error> refused(std::string_view why) const {
    return fail(Code::kInternal, fmt::format("function {}: {}", function_.getName().str(), why));
  }

  // A header that only begins, a latch that only decides, and a block behind.
  Status giveLoop(llvm::Loop& loop) {
    llvm::BasicBlock *header = loop.getHeader(), *latch = loop.getLoopLatch();
    auto* exit = latch ? llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator()) : nullptr;
    if (!exit || exit->isUnconditional() || loop.getExitingBlock() != latch)
      return refused("a loop is left elsewhere than at its end");
    llvm::BasicBlock* decides = latch->splitBasicBlock(exit, "latch");
    llvm::BasicBlock* outside = exit->getSuccessor(exit->getSuccessor(0) == header ? 1 : 0);
    auto* behind = llvm::BasicBlock::Create(function_.getContext(), "behind", &function_, outside);
    llvm::BranchInst::Create(outside, behind);
    exit->replaceSuccessorWith(outside, behind);
    outside->replacePhiUsesWith(decides, behind);
    header->splitBasicBlock(header->getFirstNonPHIIt(), "body");
    latches_.insert(decides);
    merges_[header] = {behind, decides};
    return {};
  }

  // A block in front of `meeting` for what comes from `block` alone.
  void giveSelection(llvm::BasicBlock& block, llvm::BasicBlock& meeting,
                     const llvm::DominatorTree& dominators) {
    llvm::SmallSetVector<llvm::BasicBlock*, 4> from;
    for (llvm::BasicBlock* before : llvm::predecessors(&meeting)) {
      llvm::BasicBlock* known = owner_.contains(before) ? owner_[before] : before;
      if (dominators.dominates(&block, known)) from.insert(before);
    }
    auto* merge = llvm::BasicBlock::Create(function_.getContext(), "merge", &function_, &meeting);
    for (llvm::PHINode& phi : meeting.phis()) {
      auto* mine = llvm::PHINode::Create(phi.getType(), from.size(), "", merge);
      for (llvm::BasicBlock* before : from) {
        mine->addIncoming(phi.getIncomingValueForBlock(before), before);
        phi.removeIncomingValue(before, /*DeletePHIIfEmpty=*/false);
      }
      phi.addIncoming(mine, merge);
    }
    llvm::BranchInst::Create(&meeting, merge);
    for (llvm::BasicBlock* before : from) before->getTerminator()->replaceSuccessorWith(&meeting, merge);
    owner_[merge] = &block;
    merges_[&block] = {merge, nullptr};
  }

  llvm::Function& function_;
  Merges merges_;
  llvm::SmallPtrSet<llvm::BasicBlock*, 8> latches_;
  llvm::DenseMap<llvm::BasicBlock*, llvm::BasicBlock*> owner_;  // of the blocks made for selections
};

// A branch to one block from both sides is none.
void dropEqualBranches(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (!branch || branch->isUnconditional() || branch->getSuccessor(0) != branch->getSuccessor(1)) continue;
    llvm::BasicBlock* next = branch->getSuccessor(0);
    next->removePredecessor(&block, /*KeepOneInputPHIs=*/true);
    llvm::BranchInst::Create(next, branch->getIterator());
    branch->eraseFromParent();
  }
}

}  // namespace

Result<Merges> structure(llvm::Function& function) {
  dropEqualBranches(function);
  return Structure(function).run();
}

}  // namespace kiln::codegen
