#include "compiler_core/schedule/strategies/channel_lanes/channel_lanes.h"

#include "compiler_core/ir/ir.h"
#include "compiler_core/schedule/analysis/contraction_roles.h"
#include "compiler_core/schedule/analysis/weight_arguments.h"
#include "compiler_core/schedule/emit/cpu/channel_sums.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

constexpr std::int64_t kFloatBits = 32;
constexpr std::int64_t kManyPanels = 6;  // enough to be shared out in any case

// What each loop of the nest is.
struct ChannelRoles {
  unsigned window = 0, weight = 0;             // operand numbers of the factors
  unsigned channels = 0;                       // the loop along them
  SmallVector<unsigned> outer, places, steps;  // batch, positions, the sum
  std::int64_t lanes = 0;                      // of a panel
  BlockArgument argument;                      // the weight
};

// The loop of `loops` that has more than one iteration; null if that is not exactly one.
std::optional<unsigned> theLoop(const LoopNest& nest, ArrayRef<unsigned> loops) {
  std::optional<unsigned> found;
  for (unsigned i : loops) {
    if (nest.loops[i].extent == 1) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

std::optional<ChannelRoles> findChannelRoles(linalg::LinalgOp op, const LoopNest& nest,
                                             const VectorShape& registers) {
  const auto contraction = findContraction(op);
  if (!contraction || op.getNumDpsInits() != 1 ||
      !getElementTypeOrSelf(op.getDpsInits()[0].getType()).isF32())
    return std::nullopt;
  ChannelRoles found{contraction->right.operand->getOperandNumber(),
                     contraction->left.operand->getOperandNumber(),
                     0,
                     contraction->batch,
                     {},
                     contraction->reductions,
                     0,
                     {}};
  const auto channels = theLoop(nest, contraction->left.loops);
  if (!channels) return std::nullopt;
  found.channels = *channels;
  Value root = contraction->left.operand->get();
  while (auto view = root.getDefiningOp<ViewLikeOpInterface>()) root = view.getViewSource();
  found.argument = weightArgument(root);
  if (!found.argument) return std::nullopt;
  auto whole = dyn_cast<MemRefType>(root.getType());
  if (!whole || !whole.hasStaticShape() || !whole.getLayout().isIdentity() || !whole.getElementType().isF32())
    return std::nullopt;
  // Tiles of whole panels, each channel's numbers as they lie in the weight.
  const std::int64_t all = whole.getDimSize(0), steps = points(nest, found.steps);
  found.lanes = channelPanel(all, registers);
  if (found.lanes == 0 || nest.loops[*channels].extent % found.lanes != 0 ||
      all * steps != whole.getNumElements() || nest.loops[*channels].strides[found.weight] != steps ||
      !isOne(nest, found.steps, found.weight))
    return std::nullopt;
  for (unsigned i : llvm::reverse(found.steps))
    if (nest.loops[i].extent > 1) {
      if (nest.loops[i].strides[found.weight] != 1) return std::nullopt;
      break;
    }
  // Positions whose results lie side by side are transposed together.
  found.places = takeSideBySide(nest, contraction->right.loops, op.getDpsInitOperand(0)->getOperandNumber(),
                                found.outer);
  llvm::sort(found.outer);
  return found;
}

class ChannelEmitter {
 public:
  ChannelEmitter(RewriterBase& builder, FusedProduct product, LoopNest nest, ChannelRoles roles,
                 const BlockOptions& options)
      : b_(builder),
        product_(std::move(product)),
        loc_(product_.op->getLoc()),
        nest_(std::move(nest)),
        roles_(std::move(roles)),
        options_(options),
        positions_(points(nest_, roles_.places)) {
    options_.pack = false;
  }

  void emit() {
    readPanels();
    const Type element = b_.getF32Type();
    sums_ = memref::AllocOp::create(b_, loc_, MemRefType::get({positions_ * roles_.lanes}, element),
                                    ValueRange{}, b_.getI64IntegerAttr(64));
    emitOuter(0);
  }

 private:
  // The weight's place and strides in panels: elements of one step are neighbours, and a panel begins where
  // its first channel does in the plain weight.
  void readPanels() {
    auto type = cast<MemRefType>(roles_.argument.getType());
    SmallVector<std::int64_t> permutation;
    for (std::int64_t i = 1; i < type.getRank(); ++i) permutation.push_back(i);
    permutation.push_back(0);
    nest_.operands[roles_.weight].buffer = inPanels(roles_.argument, roles_.lanes, permutation);
    for (unsigned i : roles_.steps) nest_.loops[i].strides[roles_.weight] *= roles_.lanes;
  }

  void emitOuter(std::size_t depth) {
    if (depth < roles_.outer.size()) {
      const unsigned loop = roles_.outer[depth];
      return walkLoop(b_, loc_, nest_, loop, {0, nest_.loops[loop].extent, 1}, [&] { emitOuter(depth + 1); });
    }
    const std::int64_t channels = nest_.loops[roles_.channels].extent;
    walkLoop(b_, loc_, nest_, roles_.channels, {0, channels, roles_.lanes}, [&] { emitPanel(); });
  }

  void emitPanel() {
    const FusedProduct sums{product_.op, product_.init, {}, {}};
    const std::int64_t steps = options_.knobs.steps;
    walkSteps(b_, sums, nest_, roles_.steps, steps, [&](bool isFirst, bool) { emitSums(sums, isFirst); });
    const unsigned result = product_.op.getDpsInitOperand(0)->getOperandNumber();
    emitTransposed(b_, loc_, {sums_, roles_.lanes, options_.shape.bits / kFloatBits, b_.getIndexAttr(0)},
                   positions_, nest_.operands[result], nest_.loops[roles_.channels].strides[result]);
    if (!product_.epilogue) return;
    LoopNest nest = nest_;
    for (unsigned i : roles_.outer) nest.loops[i].extent = 1;
    emitEpilogue(b_, product_, nest, options_);
  }

  // The nest of the product without its epilogue, whose results are the sums in scratch.
  LoopNest nestOfSums() {
    LoopNest nest = nest_;
    std::size_t operands = product_.op->getNumOperands();
    if (product_.init) operands += product_.init->getNumOperands();
    nest.operands.resize(operands);
    for (NestLoop& loop : nest.loops) loop.strides.resize(operands);
    SmallVector<std::size_t> results = {product_.op.getDpsInitOperand(0)->getOperandNumber()};
    if (product_.init)
      results.push_back(product_.op->getNumOperands() +
                        product_.init.getDpsInitOperand(0)->getOperandNumber());
    for (const std::size_t result : results) {
      nest.operands[result] = {sums_, b_.getIndexAttr(0)};
      for (NestLoop& loop : nest.loops) loop.strides[result] = 0;
      nest.loops[roles_.channels].strides[result] = 1;
      std::int64_t dense = roles_.lanes;
      for (unsigned i : llvm::reverse(roles_.places)) {
        nest.loops[i].strides[result] = dense;
        dense *= nest.loops[i].extent;
      }
    }
    // Channels are next to each other in a panel.
    nest.loops[roles_.channels].strides[roles_.weight] = 1;
    return nest;
  }

  void emitSums(const FusedProduct& sums, bool isFirst) {
    LoopNest nest = nestOfSums();
    for (unsigned i : roles_.outer) nest.loops[i].extent = 1;
    joinLoops(nest);
    BlockOptions options = options_;
    options.prefetchNextBlock = true;  // each panel is read once per task
    emitBlocks(b_, emitNest(b_, sums, nest, isFirst, false), options);
  }

  RewriterBase& b_;
  FusedProduct product_;
  Location loc_;
  LoopNest nest_;
  ChannelRoles roles_;
  BlockOptions options_;
  std::int64_t positions_;  // of a task
  Value sums_;              // [position][lane]
};

}  // namespace

std::int64_t channelPanel(std::int64_t channels, const VectorShape& registers) {
  // An even number of panels, so that two threads may have as many each, rather than the widest.
  const std::int64_t width = registers.bits / kFloatBits;
  std::int64_t widest = 0;
  for (std::int64_t count = registers.across; count > 0; --count) {
    if (channels % (count * width) != 0) continue;
    if (widest == 0) widest = count * width;
    const std::int64_t panels = channels / (count * width);
    if (count > 1 && (panels % 2 == 0 || panels >= kManyPanels)) return count * width;
  }
  return widest;
}

std::int64_t mayTakeChannelLanes(linalg::LinalgOp product, const VectorShape& registers) {
  if (product.getNumDpsInputs() != 2 || product.getNumReductionLoops() < 2) return 0;
  auto weight = weightArgument(product.getDpsInputs()[1]);
  auto type = weight ? dyn_cast<RankedTensorType>(weight.getType()) : RankedTensorType();
  if (!type || !type.hasStaticShape() || !type.getElementType().isF32() ||
      type.getNumElements() * (kFloatBits / 8) <= ir::kMaxConstantBytes ||
      llvm::any_of(product.getStaticLoopRanges(), ShapedType::isDynamic))
    return 0;
  // [channel, step...]: without groups.
  const AffineMap map = product.getMatchingIndexingMap(product.getDpsInputOperand(1));
  if (map.getNumResults() != product.getNumReductionLoops() + 1) return 0;
  return channelPanel(type.getDimSize(0), registers);
}

bool emitChannelLanes(RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options) {
  OpBuilder::InsertionGuard guard(rewriter);
  if (!product.init) return false;  // the sums begin in scratch
  auto nest = nestOf(rewriter, product);
  if (!nest) return false;
  auto roles = findChannelRoles(product.op, *nest, options.shape);
  if (!roles) return false;
  ChannelEmitter(rewriter, product, std::move(*nest), std::move(*roles), options).emit();
  for (linalg::LinalgOp part : llvm::reverse(product.parts())) rewriter.eraseOp(part);
  return true;
}

}  // namespace kiln::schedule
