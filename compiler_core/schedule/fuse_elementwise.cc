#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/fixed_point.h"
#include "compiler_core/schedule/analysis/groups.h"
#include "compiler_core/schedule/analysis/partial_sums.h"
#include "compiler_core/schedule/passes.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace kiln::schedule {

#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "compiler_core/schedule/passes.h.inc"

namespace {

using namespace mlir;

// Fusing must neither repeat arithmetic nor hide a contraction's operands from the vectoriser.
bool worthFusing(OpOperand* operand) {
  auto producer = operand->get().getDefiningOp<linalg::LinalgOp>();
  auto consumer = dyn_cast<linalg::LinalgOp>(operand->getOwner());
  if (!producer || !consumer || !isPointwise(producer) || isContraction(consumer)) return false;
  const AffineMap map = consumer.getMatchingIndexingMap(operand);
  if (!map.isProjectedPermutation()) return false;
  if (isMove(producer)) return true;
  return groupOf(producer) == groupOf(consumer) && producer->hasOneUse() && map.isPermutation();
}

// Upstream's fusion, keeping the group.
struct FuseProducer : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op, PatternRewriter& rewriter) const override {
    for (OpOperand* operand : op.getDpsInputOperands()) {
      if (!linalg::areElementwiseOpsFusable(operand) || !worthFusing(operand)) continue;
      Operation* producer = operand->get().getDefiningOp();
      auto fused = linalg::fuseElementwiseOps(rewriter, operand);
      if (failed(fused)) continue;
      for (StringRef name : {StringRef(ir::GroupAttr::kName), StringRef(ir::ExtentsAttr::kName),
                             StringRef(ir::PartialsAttr::kName)})
        if (Attribute attribute = op->getAttr(name)) fused->fusedOp->setAttr(name, attribute);
      fused->fusedOp->setLoc(rewriter.getFusedLoc({producer->getLoc(), op.getLoc()}));
      // What the producer still gives to others stays there: only moves have other users.
      for (Value result : op.getResults())
        rewriter.replaceAllUsesWith(result, fused->replacements.lookup(result));
      rewriter.eraseOp(op);
      return success();
    }
    return failure();
  }
};

// A filled operand is its number.
struct FoldFill : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op, PatternRewriter& rewriter) const override {
    for (OpOperand* operand : op.getDpsInputOperands()) {
      auto fill = operand->get().getDefiningOp<linalg::FillOp>();
      BlockArgument argument = op.getMatchingBlockArgument(operand);
      if (!fill || argument.use_empty()) continue;
      rewriter.replaceAllUsesWith(argument, fill.value());
      return success();
    }
    return failure();
  }
};

// An elementwise operation that ignores its destination may write over an operand of the same shape that has
// no other use: the tile then stays in place behind the contraction that made it.
struct ReuseOperand : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op, PatternRewriter& rewriter) const override {
    if (!isPointwise(op) || op.getNumDpsInits() != 1) return failure();
    OpOperand* init = op.getDpsInitOperand(0);
    if (!init->get().getDefiningOp<tensor::EmptyOp>()) return failure();
    for (OpOperand* input : op.getDpsInputOperands()) {
      auto producer = input->get().getDefiningOp<linalg::LinalgOp>();
      if (!producer || groupOf(producer) != groupOf(op) || isPointwise(producer) ||
          !input->get().hasOneUse() || input->get().getType() != init->get().getType() ||
          op.getMatchingIndexingMap(input) != op.getMatchingIndexingMap(init))
        continue;
      rewriter.modifyOpInPlace(op, [&] {
        Block* body = op.getBody();
        body->getArgument(input->getOperandNumber())
            .replaceAllUsesWith(body->getArgument(init->getOperandNumber()));
        init->set(input->get());
      });
      return success();
    }
    return failure();
  }
};

struct FuseElementwisePass : impl::FuseElementwisePassBase<FuseElementwisePass> {
  void runOnOperation() override {
    RewritePatternSet fusion(&getContext());
    fusion.add<FuseProducer, FoldFill>(&getContext());
    linalg::populateEraseUnusedOperandsAndResultsPatterns(fusion);
    if (failed(ir::applyToFixedPoint(getOperation(), std::move(fusion)))) return signalPassFailure();
    RewritePatternSet reuse(&getContext());
    reuse.add<ReuseOperand>(&getContext());
    linalg::populateEraseUnusedOperandsAndResultsPatterns(reuse);
    if (failed(ir::applyToFixedPoint(getOperation(), std::move(reuse)))) return signalPassFailure();
  }
};

}  // namespace

}  // namespace kiln::schedule
