#include "compiler_core/schedule/strategies/im2col/im2col.h"

#include "compiler_core/schedule/analysis/contraction_roles.h"
#include "compiler_core/schedule/strategies/im2col/knobs.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

constexpr std::int64_t kMinRows = 8, kMinLanes = 4;  // that share and fill a copy
constexpr std::int64_t kCopyElements = 1 << 17;      // half of a core's L2 as f32
constexpr std::int64_t kMaxElements = 1 << 19;       // beyond that windows are read where they are

// One block of steps: the copy of the window's elements (im2col), and the product with it.
struct Im2colStep {
  linalg::LinalgOp copy;
  FusedProduct product;
};

// What each loop of a contraction is to the copy.
struct Im2colRoles {
  unsigned window = 0, other = 0;                   // operand numbers of the factors
  SmallVector<unsigned> outer, rows, lanes, steps;  // loops of the nest
};

std::optional<Im2colRoles> findIm2colRoles(linalg::LinalgOp op, const LoopNest& nest) {
  const auto contraction = findContraction(op);
  if (!contraction) return std::nullopt;
  Im2colRoles found{contraction->right.operand->getOperandNumber(),
                    contraction->left.operand->getOperandNumber(),
                    contraction->batch,
                    contraction->left.loops,
                    {},
                    contraction->reductions};
  // Neighbouring results, as far as they lie side by side.
  found.lanes = takeSideBySide(nest, contraction->right.loops, op.getDpsInitOperand(0)->getOperandNumber(),
                               found.outer);
  const bool isWindow = !isOne(nest, found.lanes, found.window) || !isOne(nest, found.steps, found.window);
  if (!isWindow || !isOne(nest, found.steps, found.other) || points(nest, found.rows) < kMinRows ||
      points(nest, found.lanes) < kMinLanes)
    return std::nullopt;
  // A copy holds at least one step of the outermost loop of the sum.
  if (points(nest, found.steps) / nest.loops[found.steps.front()].extent * points(nest, found.lanes) >
      kMaxElements)
    return std::nullopt;
  llvm::sort(found.outer);
  return found;
}

class Im2colEmitter {
 public:
  Im2colEmitter(RewriterBase& builder, const FusedProduct& product, LoopNest nest, Im2colRoles roles,
                std::int64_t maxSteps)
      : b_(builder),
        product_(product),
        loc_(product.op->getLoc()),
        nest_(std::move(nest)),
        roles_(std::move(roles)),
        mostSteps_(maxSteps) {}

  SmallVector<Im2colStep> emit() {
    emitOuter(0);
    return std::move(made_);
  }

 private:
  void walk(unsigned number, std::int64_t from, std::int64_t to, std::int64_t by,
            llvm::function_ref<void()> body) {
    walkLoop(b_, loc_, nest_, number, {from, to, by}, body);
  }

  void emitOuter(std::size_t depth) {
    if (depth == roles_.outer.size()) return emitSteps();
    const unsigned loop = roles_.outer[depth];
    walk(loop, 0, nest_.loops[loop].extent, 1, [&] { emitOuter(depth + 1); });
  }

  // The outermost loop of the sum in blocks that a copy has room for.
  void emitSteps() {
    const std::int64_t most = std::min(mostSteps_, kCopyElements / points(nest_, roles_.lanes));
    walkSteps(b_, product_, nest_, roles_.steps, most,
              [&](bool isFirst, bool isLast) { emitProduct(isFirst, isLast); });
  }

  void emitProduct(bool isFirst, bool isLast) {
    const Type element = getElementTypeOrSelf(nest_.operands[roles_.window].buffer.getType());
    // Rows of whole cache lines, not a power of two apart.
    const std::int64_t lanes = points(nest_, roles_.lanes);
    const std::int64_t pitch = (lanes + 15) / 16 * 16 + (lanes > 240 ? 16 : 0);
    Value panel =
        memref::AllocOp::create(b_, loc_, MemRefType::get({points(nest_, roles_.steps) * pitch}, element),
                                ValueRange{}, b_.getI64IntegerAttr(64));
    LoopNest copy{{}, {nest_.operands[roles_.window], {panel, b_.getIndexAttr(0)}}};
    LoopNest product = nest_;
    product.operands[roles_.window] = {panel, b_.getIndexAttr(0)};
    for (unsigned i : roles_.outer) product.loops[i].extent = 1;
    std::int64_t dense = 1;
    auto place = [&](ArrayRef<unsigned> loops) {
      for (unsigned i : llvm::reverse(loops)) {
        const std::int64_t extent = nest_.loops[i].extent;
        copy.loops.insert(
            copy.loops.begin(),
            {extent, utils::IteratorType::parallel, {nest_.loops[i].strides[roles_.window], dense}});
        product.loops[i].strides[roles_.window] = dense;
        dense *= extent;
      }
    };
    place(roles_.lanes);
    dense = pitch;
    place(roles_.steps);
    joinLoops(copy);
    joinLoops(product);
    auto copied = cast<linalg::LinalgOp>(emitCopy(b_, loc_, copy).getOperation());
    made_.push_back({copied, emitNest(b_, product_, product, isFirst, isLast)});
  }

  RewriterBase& b_;
  const FusedProduct& product_;
  Location loc_;
  LoopNest nest_;
  Im2colRoles roles_;
  std::int64_t mostSteps_;
  SmallVector<Im2colStep> made_;
};

// The steps, in order, with the parts of `product` erased; empty where a window gains nothing: they stay.
SmallVector<Im2colStep> im2colSteps(RewriterBase& rewriter, const FusedProduct& product,
                                    std::int64_t maxSteps) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto nest = nestOf(rewriter, product);
  if (!nest) return {};
  auto roles = findIm2colRoles(product.op, *nest);
  if (!roles) return {};
  auto made = Im2colEmitter(rewriter, product, std::move(*nest), std::move(*roles), maxSteps).emit();
  for (linalg::LinalgOp part : llvm::reverse(product.parts())) rewriter.eraseOp(part);
  return made;
}

}  // namespace

bool emitByIm2col(RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options) {
  if (!Im2colKnobs::of(options.schedule).copies) return false;
  const SmallVector<Im2colStep> steps = im2colSteps(rewriter, product, options.knobs.steps);
  BlockOptions own = options;
  own.pack = false;
  for (const Im2colStep& step : steps) {
    emitBlocks(rewriter, step.copy, *findRoles(step.copy, options.shape), own);
    rewriter.setInsertionPoint(step.product.epilogue ? step.product.epilogue : step.product.op);
    emitBlocks(rewriter, step.product, own);
  }
  return !steps.empty();
}

}  // namespace kiln::schedule
