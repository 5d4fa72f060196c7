#include "compiler_core/schedule/analysis/kernel_group.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/contraction_roles.h"
#include "compiler_core/schedule/analysis/extents.h"
#include "compiler_core/schedule/analysis/groups.h"
#include "compiler_core/schedule/analysis/packed_dot.h"
#include "compiler_core/schedule/analysis/packed_product.h"
#include "compiler_core/schedule/analysis/partial_sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kiln::schedule {

using namespace mlir;

bool isContraction(linalg::LinalgOp op) {
  if (findProduct(op) || isPackedProduct(op)) return true;
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

// Fusion makes one copy of a producer for each use, and of what is behind it for each copy; CSE leaves one at
// the end. Without a bound, values that are used twice by values that are used twice ... take exponential
// time.
constexpr std::int64_t kMaxCopies = 16;
constexpr std::size_t kMaxMembers = 64;

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
void collect(linalg::LinalgOp op, ArrayRef<int> loops, const Anchored& anchored, KernelGroup& group) {
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

}  // namespace

Anchored findAnchored(ArrayRef<linalg::LinalgOp> ops) {
  Anchored anchored;
  for (linalg::LinalgOp op : ops)
    if (isAnchor(op)) anchored.insert(groupOf(op));
  return anchored;
}

KernelGroup collectKernel(linalg::LinalgOp root, const Anchored& anchored) {
  KernelGroup group;
  group.members.insert(root);
  group.copies[root] = 1;
  group.divisible.resize(root.getNumLoops(), true);
  SmallVector<int> identity(root.getNumLoops());
  for (unsigned i = 0; i < identity.size(); ++i) identity[i] = static_cast<int>(i);
  collect(root, identity, anchored, group);
  return group;
}

KernelKind kindOf(const KernelGroup& group, bool forDevice) {
  KernelKind kind = KernelKind::kElementwise;
  unsigned contractions = 0;
  for (Operation* op : group.members) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    if (isContraction(linalgOp)) {
      // One product feeds another.
      if (contractions++ > 0) return KernelKind::kAttention;
      kind = linalgOp.getNumReductionLoops() == 1 || isPackedProduct(linalgOp) ? KernelKind::kContraction
             : forDevice || sharesRows(linalgOp)                               ? KernelKind::kConvolution
                                                                               : KernelKind::kDepthwise;
    }
    if (!isPointwise(linalgOp) && contractions == 0) kind = KernelKind::kReduction;
  }
  return kind;
}

std::int64_t windowPositions(linalg::LinalgOp op) {
  SmallVector<unsigned> steps;
  op.getReductionDims(steps);
  const SmallVector<std::int64_t> extents = estimatedExtents(op);
  std::int64_t positions = 1;
  for (unsigned dim : llvm::drop_begin(steps)) positions *= extents[dim];
  return positions;
}

std::int64_t workOf(const KernelGroup& group) {
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

bool isSingle(const KernelGroup& group, KernelKind kind) {
  return (kind == KernelKind::kElementwise || kind == KernelKind::kReduction) &&
         llvm::all_of(ArrayRef(group.members.getArrayRef()).drop_front(),
                      [](Operation* op) { return isa<linalg::FillOp>(op); });
}

}  // namespace kiln::schedule
