#include <set>

#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/fixed_point.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/schedule/analysis/extents.h"
#include "compiler_core/schedule/analysis/groups.h"
#include "compiler_core/schedule/analysis/kernel_group.h"
#include "compiler_core/schedule/analysis/kernel_info.h"
#include "compiler_core/schedule/analysis/row_loop.h"
#include "compiler_core/schedule/passes.h"
#include "compiler_core/schedule/strategies/registry.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/TilingInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/TensorTilingInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/CSE.h"

namespace kiln::schedule {

#define GEN_PASS_DECL_TILEPASS
#define GEN_PASS_DEF_TILEPASS
#include "compiler_core/schedule/passes.h.inc"

using namespace mlir;

namespace {

// Fusing leaves the slices that it replaced.
void eraseDead(Operation* loop, RewriterBase& rewriter) {
  SmallVector<Operation*> ops;
  loop->walk([&](Operation* op) { ops.push_back(op); });
  for (Operation* op : llvm::reverse(ops))
    if (op != loop && isOpTriviallyDead(op)) rewriter.eraseOp(op);
}

struct TilePass : impl::TilePassBase<TilePass> {
  explicit TilePass(const TileOptions& wanted = {}) : options(wanted) { device = wanted.forDevice; }
  void getDependentDialects(DialectRegistry& registry) const override {
    Base::getDependentDialects(registry);
    linalg::registerTilingInterfaceExternalModels(registry);
    tensor::registerTilingInterfaceExternalModels(registry);
  }

  // The schedule of a kernel, and what is said about it; failure where a given one is refused.
  FailureOr<DictionaryAttr> describe(const KernelGroup& group, const Site& site) {
    llvm::SetVector<std::string, std::vector<std::string>, std::set<std::string>> names;
    for (Operation* op : llvm::reverse(group.members)) names.insert_range(ir::nodeNames(op->getLoc()));
    const std::vector<std::string> nodes = names.takeVector();
    SmallVector<std::int64_t> extents;
    for (const LoopInfo& loop : site.shape.loops) extents.push_back(loop.extent);
    const Chosen standard = defaultSchedule(site);
    const auto info = [&](StringRef rule, const Schedule& schedule) {
      return kernelInfo(&getContext(), nodes, rule, extents, schedule);
    };
    const auto isolated = options.environment.target.empty() || !checkSchedule(standard.schedule)
                              ? std::nullopt
                              : isolate(group.members.getArrayRef(), options.environment);
    if (!isolated) return info(standard.rule, standard.schedule);
    const std::string signature = signatureOf(*isolated);
    if (options.onKernel) options.onKernel({signature, *isolated, nodes, site, standard.schedule});
    const ScheduleOverride* given = nullptr;
    if (options.given)
      if (auto found = options.given->find(signature); found != options.given->end()) given = &found->second;
    if (given && given->isFromCatalogue() && !isStillBetter(*given, standard.schedule, site)) given = nullptr;
    if (given)
      if (const Status fits = checkOverride(*given, site); !fits) {
        const Error error =
            fits.error().in("kernel " + signature + (nodes.empty() ? "" : " (" + nodes[0] + ")"));
        if (options.onRefused) options.onRefused(error);
        return group.members.front()->emitError(error.message);
      }
    Builder b(&getContext());
    NamedAttrList attributes(
        given ? info(given->isFromCatalogue() ? StringRef(kCatalogueRule) : "given", given->schedule)
              : info(standard.rule, standard.schedule));
    ir::kernel::kSignature.set(attributes, b.getStringAttr(signature));
    if (given && !given->entry.empty()) ir::kernel::kTuned.set(attributes, b.getStringAttr(given->entry));
    return attributes.getDictionary(&getContext());
  }

  static Status checkOverride(const ScheduleOverride& given, const Site& site) {
    const std::string_view own = templateOf(site.shape.kind);
    if (given.templateName != own)
      return fail(Code::kInvalidArgument, "the schedule is for the template " + given.templateName +
                                              ", the kernel is of " + std::string(own));
    return check(given.schedule, site);
  }

  // Whether what the catalogue says of a kernel holds for this compiler: it was measured against the default
  // that the kernel has here, and its knobs are legal.
  static bool isStillBetter(const ScheduleOverride& catalogued, const Schedule& standard, const Site& site) {
    return *catalogued.insteadOf == standard && checkOverride(catalogued, site).has_value();
  }

  LogicalResult tileRoot(linalg::LinalgOp root, const Anchored& anchored, IRRewriter& rewriter) {
    SmallVector<unsigned> parallel;
    root.getParallelDims(parallel);
    if (parallel.empty()) return success();  // one number: the calling thread makes it
    KernelGroup group = collectKernel(root, anchored);

    KernelShape shape{kindOf(group, device), {}, workOf(group)};
    for (Operation* op : group.members)
      if (auto member = cast<linalg::LinalgOp>(op); isContraction(member)) {
        shape.window = member.getNumReductionLoops() - 1;
        shape.kernel = windowPositions(member);
        if (device) continue;
        for (const Strategy* strategy : strategies())
          if (strategy->inspect) strategy->inspect(member, options.registers, shape);
      }
    const SmallVector<std::int64_t> extents = estimatedExtents(root), fixed = root.getStaticLoopRanges(),
                                    most = largestExtents(root);
    for (unsigned dim : parallel)
      shape.loops.push_back({extents[dim], group.divisible.test(dim), ShapedType::isDynamic(fixed[dim])});
    const Site site{shape, options.registers, device, device && isSingle(group, shape.kind),
                    device ? Reassociation::kOff : options.environment.reassociation};
    const FailureOr<DictionaryAttr> described = describe(group, site);
    if (failed(described)) return failure();
    const DictionaryAttr description = *described;
    if (site.isSingle) {
      // A device's blocks take the results in order: the operation stays whole.
      ir::KernelAttr::set(root, description);
      return success();
    }
    SmallVector<OpFoldResult> sizes(root.getNumLoops(), rewriter.getIndexAttr(0));
    bool cut = false;
    const Schedule schedule = scheduleOf(description);
    for (auto [dim, size] : llvm::zip_equal(parallel, listOf(schedule, kTileKnob))) {
      // What covers every extent of a symbolic loop leaves it whole.
      if (ShapedType::isDynamic(fixed[dim]) ? !group.divisible.test(dim) || size >= most[dim]
                                            : size == extents[dim])
        continue;
      sizes[dim] = rewriter.getIndexAttr(size);
      cut = true;
    }
    // Too small to share out: still a kernel, of one task.
    if (!cut) sizes[parallel.front()] = rewriter.getIndexAttr(most[parallel.front()]);

    scf::SCFTileAndFuseOptions fusion;
    fusion.tilingOptions.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
    fusion.tilingOptions.setTileSizes(sizes);
    fusion.setFusionControlFn([&](tensor::ExtractSliceOp, OpResult producer,
                                  bool) -> std::optional<scf::SCFTileAndFuseOptions::ControlFnResult> {
      if (!group.members.contains(producer.getOwner())) return std::nullopt;
      return scf::SCFTileAndFuseOptions::ControlFnResult{};
    });
    rewriter.setInsertionPoint(root);
    auto result = scf::tileConsumerAndFuseProducersUsingSCF(
        rewriter, cast<TilingInterface>(root.getOperation()), fusion);
    if (failed(result) || result->loops.size() != 1) return root.emitError("the operation does not tile");
    for (OpResult value : root->getResults())
      if (Value replacement = result->replacements.lookup(value))
        rewriter.replaceAllUsesWith(value, replacement);
    ir::KernelAttr::set(result->loops.front(), description);
    rewriter.eraseOp(root);
    if (device || llvm::is_contained(fixed, ShapedType::kDynamic))
      resolveSizes(result->loops.front(), rewriter);
    eraseDead(result->loops.front(), rewriter);
    return success();
  }

  // A block has room for its own piece of what lies between its operations, not for the whole.
  LogicalResult keepTilesOnly() {
    RewritePatternSet patterns(&getContext());
    tensor::populateFoldTensorEmptyPatterns(patterns);
    return ir::applyToFixedPoint(getOperation(), std::move(patterns));
  }

  // On a processor.
  LogicalResult runAlongRows(IRRewriter& rewriter) {
    SmallVector<scf::ForallOp> loops;
    getOperation().walk([&](scf::ForallOp loop) { loops.push_back(loop); });
    for (scf::ForallOp loop : loops) {
      if (failed(loopOverRows(loop, rewriter))) return failure();
      eraseDead(loop, rewriter);
    }
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
    return success();
  }

  void runOnOperation() override {
    if (!target.empty()) options.environment.target = target;
    if (reassociation) options.environment.reassociation = Reassociation::kOn;
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> ops;  // those in bodies of control flow before those behind it
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    const Anchored anchored = findAnchored(ops);
    for (linalg::LinalgOp op : llvm::reverse(ops)) {
      if (op->use_empty()) {
        rewriter.eraseOp(op);
        continue;
      }
      if (failed(tileRoot(op, anchored, rewriter))) return signalPassFailure();
    }
    if (device && failed(keepTilesOnly())) return signalPassFailure();
    // The same producer fused twice into one tile is computed once.
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
    if (!device && failed(runAlongRows(rewriter))) return signalPassFailure();
  }

  TileOptions options;
};

}  // namespace

std::unique_ptr<Pass> createTilePass(const TileOptions& options) {
  return std::make_unique<TilePass>(options);
}

}  // namespace kiln::schedule
