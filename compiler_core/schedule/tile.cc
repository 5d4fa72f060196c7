#include "compiler_core/ir/types.h"
#include "compiler_core/schedule/groups.h"
#include "compiler_core/schedule/heuristics.h"
#include "compiler_core/schedule/passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/TilingInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/TensorTilingInterfaceImpl.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/CSE.h"

namespace kiln::schedule {

using namespace mlir;

bool isContraction(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0) return false;
  auto& body = op.getBlock()->getOperations();
  if (body.size() != 3) return false;
  Operation& product = body.front();
  Operation& sum = *std::next(body.begin());
  return isa<arith::MulFOp, arith::MulIOp>(product) && isa<arith::AddFOp, arith::AddIOp>(sum);
}

namespace {

// What is known about a group before it is tiled.
struct Group {
  llvm::SetVector<Operation*> members;  // the root first, then the producers to be fused into its tiles
  llvm::SmallBitVector divisible;       // loops of the root that every member follows
};

// Walks from `op` to its producers in the group. `loops` gives for each loop of `op` the root's loop it is,
// or -1.
void collect(linalg::LinalgOp op, ArrayRef<int> loops, Group& group) {
  for (OpOperand& operand : op->getOpOperands()) {
    auto producer = operand.get().getDefiningOp<linalg::LinalgOp>();
    if (!producer || groupOf(producer) != groupOf(op) || producer->getNumResults() != 1) continue;
    if (!llvm::all_of(producer->getUsers(), [&](Operation* user) { return group.members.contains(user); }))
      continue;
    group.members.insert(producer);
    // Result dimension -> loop of op -> loop of the root.
    SmallVector<int> ofResult;
    for (AffineExpr expression : op.getMatchingIndexingMap(&operand).getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expression);
      ofResult.push_back(dim ? loops[dim.getPosition()] : -1);
    }
    llvm::SmallBitVector followed(group.divisible.size());
    for (int loop : ofResult)
      if (loop >= 0) followed.set(loop);
    group.divisible &= followed;
    SmallVector<int> ofLoop(producer.getNumLoops(), -1);
    AffineMap out = producer.getMatchingIndexingMap(producer.getDpsInitOperand(0));
    for (auto [i, expression] : llvm::enumerate(out.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expression)) ofLoop[dim.getPosition()] = ofResult[i];
    collect(producer, ofLoop, group);
  }
}

KernelKind kindOf(const Group& group) {
  KernelKind kind = KernelKind::kElementwise;
  for (Operation* op : group.members) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    if (isContraction(linalgOp))
      return linalgOp.getNumReductionLoops() == 1 ? KernelKind::kContraction : KernelKind::kConvolution;
    if (!isPointwise(linalgOp)) kind = KernelKind::kReduction;
  }
  return kind;
}

// Scalar operations per point of the root: reductions count each of their steps.
std::int64_t workOf(const Group& group) {
  std::int64_t work = 0;
  for (Operation* op : group.members) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    std::int64_t steps = 1;
    SmallVector<unsigned> reductions;
    linalgOp.getReductionDims(reductions);
    for (unsigned dim : reductions) steps *= linalgOp.getStaticLoopRanges()[dim];
    work += steps * static_cast<std::int64_t>(linalgOp.getBlock()->getOperations().size());
  }
  return work;
}

struct TilePass : PassWrapper<TilePass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TilePass)
  StringRef getArgument() const final { return "kiln-tile"; }
  StringRef getDescription() const final { return "Each group becomes a parallel loop over tiles"; }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect, scf::SCFDialect, tensor::TensorDialect>();
    linalg::registerTilingInterfaceExternalModels(registry);
    tensor::registerTilingInterfaceExternalModels(registry);
  }

  DictionaryAttr describe(const Group& group, const KernelShape& shape, const Tile& tile) {
    Builder b(&getContext());
    llvm::SetVector<Attribute> nodes;
    for (Operation* op : llvm::reverse(group.members))
      for (const std::string& name : ir::nodeNames(op->getLoc())) nodes.insert(b.getStringAttr(name));
    SmallVector<std::int64_t> extents;
    for (const LoopInfo& loop : shape.loops) extents.push_back(loop.extent);
    return b.getDictionaryAttr({b.getNamedAttr("nodes", b.getArrayAttr(nodes.getArrayRef())),
                                b.getNamedAttr("rule", b.getStringAttr(tile.rule)),
                                b.getNamedAttr("loops", b.getDenseI64ArrayAttr(extents)),
                                b.getNamedAttr("tile", b.getDenseI64ArrayAttr(tile.sizes))});
  }

  LogicalResult tileRoot(linalg::LinalgOp root, IRRewriter& rewriter) {
    SmallVector<unsigned> parallel;
    root.getParallelDims(parallel);
    if (parallel.empty()) return success();  // one number: the calling thread makes it
    Group group;
    group.members.insert(root);
    group.divisible.resize(root.getNumLoops(), true);
    SmallVector<int> identity(root.getNumLoops());
    for (unsigned i = 0; i < identity.size(); ++i) identity[i] = static_cast<int>(i);
    collect(root, identity, group);

    KernelShape shape{kindOf(group), {}, workOf(group)};
    const SmallVector<std::int64_t> extents = root.getStaticLoopRanges();
    for (unsigned dim : parallel) shape.loops.push_back({extents[dim], group.divisible.test(dim)});
    const Tile tile = chooseTile(shape);
    SmallVector<OpFoldResult> sizes(root.getNumLoops(), rewriter.getIndexAttr(0));
    bool cut = false;
    for (auto [dim, size] : llvm::zip_equal(parallel, tile.sizes)) {
      if (size == extents[dim]) continue;
      sizes[dim] = rewriter.getIndexAttr(size);
      cut = true;
    }
    // Too small to share out: still a kernel, of one task.
    if (!cut) sizes[parallel.front()] = rewriter.getIndexAttr(extents[parallel.front()]);

    const DictionaryAttr description = describe(group, shape, tile);
    scf::SCFTileAndFuseOptions options;
    options.tilingOptions.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
    options.tilingOptions.setTileSizes(sizes);
    options.setFusionControlFn([&](tensor::ExtractSliceOp, OpResult producer,
                                   bool) -> std::optional<scf::SCFTileAndFuseOptions::ControlFnResult> {
      if (!group.members.contains(producer.getOwner())) return std::nullopt;
      return scf::SCFTileAndFuseOptions::ControlFnResult{};
    });
    rewriter.setInsertionPoint(root);
    auto result = scf::tileConsumerAndFuseProducersUsingSCF(
        rewriter, cast<TilingInterface>(root.getOperation()), options);
    if (failed(result) || result->loops.size() != 1) return root.emitError("the operation does not tile");
    for (OpResult value : root->getResults())
      if (Value replacement = result->replacements.lookup(value))
        rewriter.replaceAllUsesWith(value, replacement);
    result->loops.front()->setAttr(kKernelAttr, description);
    rewriter.eraseOp(root);
    return success();
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> ops(getOperation().front().getOps<linalg::LinalgOp>());
    for (linalg::LinalgOp op : llvm::reverse(ops)) {
      if (op->use_empty()) {
        rewriter.eraseOp(op);
        continue;
      }
      if (failed(tileRoot(op, rewriter))) return signalPassFailure();
    }
    // The same producer fused twice into one tile is computed once.
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};

}  // namespace

std::unique_ptr<Pass> createTilePass() {
  return std::make_unique<TilePass>();
}

}  // namespace kiln::schedule
