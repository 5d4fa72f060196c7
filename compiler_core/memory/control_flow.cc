#include "compiler_core/memory/control_flow.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace kiln::memory {
namespace {

using namespace mlir;

bool isBuffer(Value value) {
  return isa<MemRefType>(value.getType());
}

// Each of `arguments` stands for its init if `yields` hands it on unchanged.
LogicalResult unify(Operation* op, ValueRange inits, ValueRange arguments, ValueRange yields,
                    ValueRange results) {
  for (auto [init, argument, yield, result] : llvm::zip_equal(inits, arguments, yields, results)) {
    if (!isBuffer(init)) continue;
    if (yield != argument && yield != init) return op->emitError("a carried value changes its buffer");
    argument.replaceAllUsesWith(init);
    result.replaceAllUsesWith(init);
  }
  return success();
}

LogicalResult resolve(Operation* op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return unify(op, loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(),
                 loop.getResults());
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    // The test hands on all of its arguments.
    auto test = loop.getConditionOp();
    if (failed(unify(op, loop.getInits(), loop.getBeforeArguments(), test.getArgs(), loop.getResults())))
      return failure();
    return unify(op, loop.getInits(), loop.getAfterArguments(), loop.getYieldOp().getResults(),
                 loop.getResults());
  }
  auto branch = cast<scf::IfOp>(op);
  for (auto [result, a, b] : llvm::zip_equal(branch.getResults(), branch.thenYield().getResults(),
                                             branch.elseYield().getResults())) {
    if (!isBuffer(result)) continue;
    if (a != b || branch->isAncestor(a.getParentRegion()->getParentOp()))
      return op->emitError("the branches give different buffers");
    result.replaceAllUsesWith(a);
  }
  return success();
}

// The operation that computes `value`, behind changes of shape.
Operation* producerOf(Value value) {
  Operation* op = value.getDefiningOp();
  while (isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

// The buffers of results and carried values stand before what is computed for them, so that it can be
// computed in them. Lifetimes follow uses: this costs nothing.
void raiseBuffers(ModuleOp module) {
  module.walk([](bufferization::AllocTensorOp op) {
    if (op->getNumOperands() == 0) op->moveBefore(&op->getBlock()->front());
  });
}

// The next value of a carried tensor is computed in a buffer of its own, rather than in that of the present
// one, where the present one is still read. It would be written into a copy of what it replaces.
void keepCarriedApart(ModuleOp module) {
  SmallVector<bufferization::MaterializeInDestinationOp> ops;
  module.walk([&](bufferization::MaterializeInDestinationOp op) { ops.push_back(op); });
  for (bufferization::MaterializeInDestinationOp op : ops) {
    auto carried = dyn_cast<BlockArgument>(op.getDest());
    auto producer = dyn_cast_or_null<scf::ForallOp>(producerOf(op.getSource()));
    if (!carried || !producer || carried.getOwner() != producer->getBlock() || producer.getNumResults() != 1)
      continue;
    const bool readLater = llvm::any_of(carried.getUsers(), [&](Operation* user) {
      Operation* here = producer->getBlock()->findAncestorOpInBlock(*user);
      return here != op && !here->isBeforeInBlock(producer);
    });
    auto empty = producer.getOutputs()[0].getDefiningOp<tensor::EmptyOp>();
    if (!readLater || !empty) continue;
    OpBuilder builder(producer);
    producer.getOutputsMutable()[0].set(bufferization::AllocTensorOp::create(
        builder, empty.getLoc(), empty.getType(), empty.getDynamicSizes()));
  }
}

}  // namespace

void prepareControlFlow(ModuleOp module) {
  raiseBuffers(module);
  keepCarriedApart(module);
}

LogicalResult resolveControlFlow(ModuleOp module) {
  SmallVector<Operation*> ops;
  module.walk([&](Operation* op) {
    if (isa<scf::ForOp, scf::WhileOp>(op) || (isa<scf::IfOp>(op) && op->getNumResults() > 0))
      ops.push_back(op);
  });
  // Outer ones first: an inner loop's init may be an outer one's argument.
  for (Operation* op : llvm::reverse(ops))
    if (failed(resolve(op))) return failure();
  if (ops.empty()) return success();
  // What is handed on for nothing now.
  RewritePatternSet patterns(module.getContext());
  scf::ForOp::getCanonicalizationPatterns(patterns, module.getContext());
  scf::IfOp::getCanonicalizationPatterns(patterns, module.getContext());
  scf::WhileOp::getCanonicalizationPatterns(patterns, module.getContext());
  return applyOpPatternsGreedily(ops, std::move(patterns));
}

}  // namespace kiln::memory
