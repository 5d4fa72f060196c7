#include "compiler_core/schedule/kernel_info.h"
#include "compiler_core/schedule/lower/lowering.h"
#include "compiler_core/schedule/passes.h"
#include "compiler_core/schedule/vectorize/block_emitter.h"
#include "compiler_core/schedule/vectorize/unfold_window.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

struct VectorizePass : PassWrapper<VectorizePass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VectorizePass)
  explicit VectorizePass(BlockOptions options = {}) : options(options) {}
  StringRef getArgument() const final { return "kiln-vectorize"; }
  StringRef getDescription() const final {
    return "Linalg on buffers becomes loops around blocks of vector registers";
  }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect, linalg::LinalgDialect, math::MathDialect,
                    memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  }

  // Of the kernel that the operation is part of.
  static Schedule scheduleAround(Operation* op) {
    for (; op; op = op->getParentOp())
      if (auto info = op->getAttrOfType<DictionaryAttr>(kKernelAttr)) return scheduleOf(info);
    return {};
  }

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops) {
      if (findRoles(op, options.shape)) {
        emit(rewriter, op);
        continue;
      }
      rewriter.setInsertionPoint(op);
      if (failed(linalg::linalgOpToLoops(rewriter, op))) {
        op.emitError("the operation has no loop form");
        return signalPassFailure();
      }
      rewriter.eraseOp(op);
    }
  }

  void emit(IRRewriter& rewriter, linalg::LinalgOp op) {
    BlockOptions own = options;
    own.schedule = scheduleAround(op);
    if (auto parts = unfoldWindow(rewriter, op); !parts.empty()) {
      own.pack = false;
      for (linalg::LinalgOp part : parts) emitBlocks(rewriter, part, *findRoles(part, options.shape), own);
      return;
    }
    op = withJoinedLoops(rewriter, op);
    emitBlocks(rewriter, op, *findRoles(op, options.shape), own);
  }

  // Fewer loops, where neighbours are one in memory.
  static linalg::LinalgOp withJoinedLoops(IRRewriter& rewriter, linalg::LinalgOp op) {
    rewriter.setInsertionPoint(op);
    auto nest = nestOf(rewriter, op);
    if (!nest) return op;
    joinLoops(*nest);
    if (nest->loops.empty() || nest->loops.size() == op.getNumLoops()) return op;
    auto joined = cast<linalg::LinalgOp>(emitNest(rewriter, op, *nest).getOperation());
    rewriter.eraseOp(op);
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
