#include <set>

#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/schedule/analysis/contraction_roles.h"
#include "compiler_core/schedule/analysis/extents.h"
#include "compiler_core/schedule/analysis/groups.h"
#include "compiler_core/schedule/analysis/kernel_info.h"
#include "compiler_core/schedule/analysis/packed_dot.h"
#include "compiler_core/schedule/analysis/partial_sums.h"
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
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace kiln::schedule {

#define GEN_PASS_DECL_TILEPASS
#define GEN_PASS_DEF_TILEPASS
#include "compiler_core/schedule/passes.h.inc"

using namespace mlir;

bool isContraction(linalg::LinalgOp op) {
  if (findProduct(op)) return true;
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0 ||
      ir::PartialsAttr::isOn(op))
    return false;
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
  llvm::DenseMap<Operation*, std::int64_t> copies;  // of each member: uses that lead from the root to it
};

// Fusion makes one copy of a producer for each use, and of what is behind it for each copy; CSE leaves one at
// the end. Without a bound, values that are used twice by values that are used twice ... take exponential
// time.
constexpr std::int64_t kMaxCopies = 16;
constexpr std::size_t kMaxMembers = 64;

// Groups that hold a contraction or a window: they stay as they are.
using Anchored = llvm::DenseSet<std::int64_t>;

bool isAnchor(linalg::LinalgOp op) {
  return isContraction(op) ||
         llvm::any_of(op.getIndexingMapsArray(), [](AffineMap map) { return !map.isProjectedPermutation(); });
}

// Whether a producer of another group should join: a row of a softmax or a mean then never reaches memory.
// There must be enough tiles left to share out, and one tile's worth of a row must fit a slot's scratch.
bool worthJoining(linalg::LinalgOp root, const llvm::SmallBitVector& divisible) {
  constexpr double kTiles = 16, kTileElements = 1 << 16, kSmall = 1 << 14;
  double tiles = 1, points = 1;
  const SmallVector<std::int64_t> extents = estimatedExtents(root);
  for (unsigned i = 0; i < extents.size(); ++i) {
    points *= static_cast<double>(extents[i]);
    if (divisible.test(i)) tiles *= static_cast<double>(extents[i]);
  }
  return points <= kSmall || (tiles >= kTiles && points / tiles <= kTileElements);
}

// Walks from `op` to its producers. `loops` gives for each loop of `op` the root's loop it is, or -1.
void collect(linalg::LinalgOp op, ArrayRef<int> loops, const Anchored& anchored, Group& group) {
  for (OpOperand& operand : op->getOpOperands()) {
    auto producer = operand.get().getDefiningOp<linalg::LinalgOp>();
    if (!producer || producer->getNumResults() != 1 || group.members.contains(producer)) continue;
    if (producer->getBlock() != op->getBlock()) continue;  // outside a loop it runs once
    if (!llvm::all_of(producer->getUsers(), [&](Operation* user) { return group.members.contains(user); }))
      continue;
    // Result dimension -> loop of op -> loop of the root.
    SmallVector<int> ofResult;
    llvm::SmallBitVector followed(group.divisible.size());
    for (AffineExpr expression : op.getMatchingIndexingMap(&operand).getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expression);
      ofResult.push_back(dim ? loops[dim.getPosition()] : -1);
      if (ofResult.back() >= 0) followed.set(ofResult.back());
    }
    followed &= group.divisible;
    if (groupOf(producer) != groupOf(op)) {
      if (anchored.contains(groupOf(producer)) || anchored.contains(groupOf(op))) continue;
      if (!worthJoining(cast<linalg::LinalgOp>(group.members.front()), followed)) continue;
    }
    std::int64_t copies = 0;
    for (Operation* user : producer->getUsers()) copies += group.copies.lookup(user);
    if (copies > kMaxCopies || group.members.size() >= kMaxMembers) continue;
    group.members.insert(producer);
    group.copies[producer] = copies;
    group.divisible = followed;
    SmallVector<int> ofLoop(producer.getNumLoops(), -1);
    AffineMap out = producer.getMatchingIndexingMap(producer.getDpsInitOperand(0));
    for (auto [i, expression] : llvm::enumerate(out.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expression)) ofLoop[dim.getPosition()] = ofResult[i];
    collect(producer, ofLoop, anchored, group);
  }
}

// Whether both factors of a product are read for several results each.
bool sharesRows(linalg::LinalgOp op) {
  SmallVector<unsigned> parallel;
  op.getParallelDims(parallel);
  const AffineMap left = op.getMatchingIndexingMap(op.getDpsInputOperand(0)),
                  right = op.getMatchingIndexingMap(op.getDpsInputOperand(1));
  auto spared = [&](AffineMap map, AffineMap other) {
    return llvm::any_of(
        parallel, [&](unsigned dim) { return !map.isFunctionOfDim(dim) && other.isFunctionOfDim(dim); });
  };
  return spared(left, right) && spared(right, left);
}

KernelKind kindOf(const Group& group, bool forDevice) {
  KernelKind kind = KernelKind::kElementwise;
  unsigned contractions = 0;
  for (Operation* op : group.members) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    if (isContraction(linalgOp)) {
      // One product feeds another.
      if (contractions++ > 0) return KernelKind::kAttention;
      kind = linalgOp.getNumReductionLoops() == 1 ? KernelKind::kContraction
             : forDevice || sharesRows(linalgOp)  ? KernelKind::kConvolution
                                                  : KernelKind::kDepthwise;
    }
    if (!isPointwise(linalgOp) && contractions == 0) kind = KernelKind::kReduction;
  }
  return kind;
}

// Positions that a window of a convolution sees: its sum runs over channels, then over these.
std::int64_t kernelOf(linalg::LinalgOp op) {
  SmallVector<unsigned> steps;
  op.getReductionDims(steps);
  const SmallVector<std::int64_t> extents = estimatedExtents(op);
  std::int64_t positions = 1;
  for (unsigned dim : llvm::drop_begin(steps)) positions *= extents[dim];
  return positions;
}

// Scalar operations of the whole group per point of the root.
std::int64_t workOf(const Group& group) {
  double work = 0, points = 1;
  for (Operation* op : group.members) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    // A packed operand is one instruction, as a product of two numbers is.
    double steps =
        ir::DotAttr::isOn(linalgOp) ? 3 : static_cast<double>(linalgOp.getBlock()->getOperations().size());
    for (std::int64_t extent : estimatedExtents(linalgOp)) steps *= static_cast<double>(extent);
    work += steps;
  }
  auto root = cast<linalg::LinalgOp>(group.members.front());
  SmallVector<unsigned> parallel;
  root.getParallelDims(parallel);
  const SmallVector<std::int64_t> extents = estimatedExtents(root);
  for (unsigned dim : parallel) points *= static_cast<double>(extents[dim]);
  return static_cast<std::int64_t>(std::max(1.0, work / std::max(1.0, points)));
}

// Nothing is shared between the results of the group: one operation, and what fills its result before.
bool isSingle(const Group& group, KernelKind kind) {
  return (kind == KernelKind::kElementwise || kind == KernelKind::kReduction) &&
         llvm::all_of(ArrayRef(group.members.getArrayRef()).drop_front(),
                      [](Operation* op) { return isa<linalg::FillOp>(op); });
}

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
  FailureOr<DictionaryAttr> describe(const Group& group, const Site& site) {
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
    if (given)
      if (const Status fits = checkOverride(*given, site); !fits) {
        const Error error =
            fits.error().in("kernel " + signature + (nodes.empty() ? "" : " (" + nodes[0] + ")"));
        if (options.onRefused) options.onRefused(error);
        return group.members.front()->emitError(error.message);
      }
    Builder b(&getContext());
    NamedAttrList attributes(given ? info("given", given->schedule) : info(standard.rule, standard.schedule));
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

  LogicalResult tileRoot(linalg::LinalgOp root, const Anchored& anchored, IRRewriter& rewriter) {
    SmallVector<unsigned> parallel;
    root.getParallelDims(parallel);
    if (parallel.empty()) return success();  // one number: the calling thread makes it
    Group group;
    group.members.insert(root);
    group.copies[root] = 1;
    group.divisible.resize(root.getNumLoops(), true);
    SmallVector<int> identity(root.getNumLoops());
    for (unsigned i = 0; i < identity.size(); ++i) identity[i] = static_cast<int>(i);
    collect(root, identity, anchored, group);

    KernelShape shape{kindOf(group, device), {}, workOf(group)};
    for (Operation* op : group.members)
      if (auto member = cast<linalg::LinalgOp>(op); isContraction(member)) {
        shape.window = member.getNumReductionLoops() - 1;
        shape.kernel = kernelOf(member);
        if (device) continue;
        for (const Strategy* strategy : strategies())
          if (strategy->inspect) strategy->inspect(member, options.registers, shape);
      }
    const SmallVector<std::int64_t> extents = estimatedExtents(root), fixed = root.getStaticLoopRanges(),
                                    most = largestExtents(root);
    for (unsigned dim : parallel)
      shape.loops.push_back({extents[dim], group.divisible.test(dim), ShapedType::isDynamic(fixed[dim])});
    const Site site{shape, options.registers, device, device && isSingle(group, shape.kind),
                    !device && options.environment.reassociation};
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
    return applyPatternsGreedily(getOperation(), std::move(patterns));
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
    if (reassociation) options.environment.reassociation = true;
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> ops;  // those in bodies of control flow before those behind it
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    Anchored anchored;
    for (linalg::LinalgOp op : ops)
      if (isAnchor(op)) anchored.insert(groupOf(op));
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
