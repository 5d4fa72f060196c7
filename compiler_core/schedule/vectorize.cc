#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/kernel_info.h"
#include "compiler_core/schedule/analysis/roles.h"
#include "compiler_core/schedule/analysis/weight_arguments.h"
#include "compiler_core/schedule/emit/cpu/block_options.h"
#include "compiler_core/schedule/emit/cpu/fused_product.h"
#include "compiler_core/schedule/lower/lowering.h"
#include "compiler_core/schedule/passes.h"
#include "compiler_core/schedule/strategies/contract/processor_form.h"
#include "compiler_core/schedule/strategies/registry.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace kiln::schedule {

#define GEN_PASS_DECL_VECTORIZEPASS
#define GEN_PASS_DEF_VECTORIZEPASS
#include "compiler_core/schedule/passes.h.inc"

namespace {

using namespace mlir;

struct VectorizePass : impl::VectorizePassBase<VectorizePass> {
  explicit VectorizePass(BlockOptions options = {}) : options(options) { masks = options.shape.masks; }

  // The schedule of the kernel that the operation is part of.
  static Schedule scheduleAround(Operation* op) {
    for (; op; op = op->getParentOp())
      if (auto info = ir::KernelAttr::get(op)) return scheduleOf(info);
    return {};
  }

  void runOnOperation() override {
    options.shape.masks = masks;
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    llvm::DenseSet<Operation*> taken;
    llvm::MapVector<Operation*, FusedProduct> products;
    for (linalg::LinalgOp op : ops) {
      if (ir::PartialsAttr::isOn(op) || !findRoles(op, options.shape)) continue;
      FusedProduct product = findFused(op, taken);
      if (!product.init && !product.epilogue) continue;
      for (linalg::LinalgOp part : product.parts()) taken.insert(part);
      products[op] = std::move(product);
    }
    llvm::MapVector<Operation*, std::unique_ptr<Plan>> plans;
    for (linalg::LinalgOp op : ops)
      if (auto plan = planOf(op, taken)) {
        taken.insert_range(plan->parts());
        plans[op] = std::move(plan);
      }
    for (linalg::LinalgOp op : ops) {
      if (auto product = products.find(op); product != products.end()) {
        emit(rewriter, product->second);
      } else if (taken.contains(op)) {
        continue;
      } else if (auto plan = plans.find(op); plan != plans.end()) {
        plan->second->emit(rewriter);
      } else if (findRoles(op, options.shape)) {
        emit(rewriter, {op, {}, {}, {}});
      } else {
        rewriter.setInsertionPoint(op);
        if (failed(linalg::linalgOpToLoops(rewriter, op))) {
          op.emitError("the operation has no loop form");
          return signalPassFailure();
        }
        rewriter.eraseOp(op);
      }
    }
    for (unsigned i = 0; i < getOperation().getNumArguments(); ++i)
      if (ir::PanelsAttr::isOn(getOperation(), i)) return dropUnusedWeights(getOperation());
  }

  std::unique_ptr<Plan> planOf(linalg::LinalgOp op, const llvm::DenseSet<Operation*>& taken) const {
    for (const Strategy* strategy : strategies())
      if (strategy->processor && strategy->processor->plan)
        if (auto plan = strategy->processor->plan(op, options, taken)) return plan;
    return nullptr;
  }

  // At the last of its parts.
  void emit(IRRewriter& rewriter, FusedProduct product) {
    BlockOptions own = options;
    own.schedule = scheduleAround(product.op);
    own.knobs = BlockKnobs::of(own.schedule);
    rewriter.setInsertionPoint(product.epilogue ? product.epilogue : product.op);
    bool isJoined = false;
    for (const Strategy* strategy : strategies()) {
      if (!strategy->processor || !strategy->processor->emit) continue;
      if (strategy->processor->joinsLoops && !std::exchange(isJoined, true))
        product = withJoinedLoops(rewriter, product);
      if (strategy->processor->emit(rewriter, product, own)) return;
    }
  }

  // Fewer loops, where neighbours are one in memory.
  static FusedProduct withJoinedLoops(IRRewriter& rewriter, const FusedProduct& product) {
    auto nest = nestOf(rewriter, product);
    if (!nest) return product;
    const std::size_t before = nest->loops.size();
    joinLoops(*nest);
    if (nest->loops.empty() || nest->loops.size() == before) return product;
    FusedProduct joined = emitNest(rewriter, product, *nest, true, true);
    for (linalg::LinalgOp part : llvm::reverse(product.parts())) rewriter.eraseOp(part);
    return joined;
  }

  BlockOptions options;
};

}  // namespace

std::unique_ptr<Pass> createVectorizePass(const VectorizeOptions& options) {
  return std::make_unique<VectorizePass>(BlockOptions{
      {options.registerBits, options.accumulators, options.across, options.masks}, options.contraction, {}});
}

}  // namespace kiln::schedule
