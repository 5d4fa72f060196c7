#include "compiler_core/schedule/vectorize/extremes.h"

#include "compiler_core/schedule/vectorize/body.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

std::optional<vector::CombiningKind> kindOf(linalg::LinalgOp op) {
  auto& body = op.getBlock()->getOperations();
  if (body.size() != 2) return std::nullopt;
  return llvm::TypeSwitch<Operation*, std::optional<vector::CombiningKind>>(&body.front())
      .Case<arith::MaximumFOp>([](auto) { return vector::CombiningKind::MAXIMUMF; })
      .Case<arith::MinimumFOp>([](auto) { return vector::CombiningKind::MINIMUMF; })
      .Case<arith::MaxSIOp>([](auto) { return vector::CombiningKind::MAXSI; })
      .Case<arith::MinSIOp>([](auto) { return vector::CombiningKind::MINSI; })
      .Case<arith::MaxUIOp>([](auto) { return vector::CombiningKind::MAXUI; })
      .Case<arith::MinUIOp>([](auto) { return vector::CombiningKind::MINUI; })
      .Default([](Operation*) { return std::nullopt; });
}

class ExtremeEmitter {
 public:
  ExtremeEmitter(RewriterBase& builder, linalg::LinalgOp op, unsigned along, std::int64_t extent,
                 std::int64_t width, vector::CombiningKind kind)
      : b_(builder),
        op_(op),
        loc_(op.getLoc()),
        along_(along),
        extent_(extent),
        width_(width),
        kind_(kind),
        ivs_(op.getNumLoops()) {}

  void emit() {
    SmallVector<unsigned> parallel;
    op_.getParallelDims(parallel);
    emitResults(parallel);
  }

 private:
  Value number(std::int64_t value) { return arith::ConstantIndexOp::create(b_, loc_, value); }

  void emitResults(ArrayRef<unsigned> loops) {
    if (loops.empty()) return emitResult();
    const std::int64_t extent = op_.getStaticLoopRanges()[loops.front()];
    auto loop = scf::ForOp::create(b_, loc_, number(0), number(extent), number(1));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    ivs_[loops.front()] = loop.getInductionVar();
    emitResults(loops.drop_front());
  }

  SmallVector<Value> indices(OpOperand* operand) {
    const AffineMap map = op_.getMatchingIndexingMap(operand);
    SmallVector<Value> at;
    for (AffineExpr result : map.getResults()) at.push_back(ivs_[cast<AffineDimExpr>(result).getPosition()]);
    return at;
  }
  Value load(Value at) {
    OpOperand* input = op_.getDpsInputOperand(0);
    ivs_[along_] = at;
    const auto type = VectorType::get({width_}, getElementTypeOrSelf(input->get().getType()));
    return vector::LoadOp::create(b_, loc_, type, input->get(), indices(input));
  }
  Value combine(Value a, Value b, std::int64_t lanes) {
    return emitBody(b_, op_, {a, b}, lanes, false).front();
  }

  void emitResult() {
    constexpr std::int64_t kMostChains = 4;
    const std::int64_t chains = std::min(kMostChains, extent_ / width_), step = chains * width_;
    const std::int64_t whole = extent_ / step * step;
    SmallVector<Value> best;
    for (std::int64_t i = 0; i < chains; ++i) best.push_back(load(number(i * width_)));
    if (whole > step) {
      auto loop = scf::ForOp::create(b_, loc_, number(step), number(whole), number(step), best);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> next;
      for (auto [i, value] : llvm::enumerate(loop.getRegionIterArgs())) {
        Value at = affine::makeComposedAffineApply(
            b_, loc_, b_.getAffineDimExpr(0) + static_cast<std::int64_t>(i) * width_,
            {OpFoldResult(loop.getInductionVar())});
        next.push_back(combine(load(at), value, width_));
      }
      scf::YieldOp::create(b_, loc_, next);
      best = loop.getResults();
    }
    // What is left ends with a vector that may repeat elements.
    for (std::int64_t at = whole; at < extent_; at += width_)
      best[0] = combine(load(number(std::min(at, extent_ - width_))), best[0], width_);
    Value all = best[0];
    for (Value other : ArrayRef(best).drop_front()) all = combine(other, all, width_);
    OpOperand* out = op_.getDpsInitOperand(0);
    const SmallVector<Value> at = indices(out);
    Value before = memref::LoadOp::create(b_, loc_, out->get(), at);
    Value found = vector::ReductionOp::create(b_, loc_, kind_, all);
    memref::StoreOp::create(b_, loc_, combine(found, before, 0), out->get(), at);
  }

  RewriterBase& b_;
  linalg::LinalgOp op_;
  Location loc_;
  unsigned along_;
  std::int64_t extent_, width_;
  vector::CombiningKind kind_;
  SmallVector<Value> ivs_;
};

}  // namespace

bool emitExtreme(RewriterBase& rewriter, linalg::LinalgOp op, const VectorShape& shape) {
  const auto kind = kindOf(op);
  if (!kind || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 1)
    return false;
  OpOperand* input = op.getDpsInputOperand(0);
  auto type = dyn_cast<MemRefType>(input->get().getType());
  const AffineMap map = op.getMatchingIndexingMap(input);
  if (!type || !map.isProjectedPermutation() || llvm::any_of(op.getStaticLoopRanges(), ShapedType::isDynamic))
    return false;
  SmallVector<unsigned> along;
  op.getReductionDims(along);
  const std::int64_t extent = op.getStaticLoopRanges()[along[0]],
                     width = shape.bits / std::max<std::int64_t>(8, type.getElementTypeBitWidth());
  // The vectors must not leave the buffer's innermost dimension.
  if (extent < width ||
      map.getResult(map.getNumResults() - 1) != getAffineDimExpr(along[0], op.getContext()) ||
      strideAlong(map, type, along[0]) != 1)
    return false;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  ExtremeEmitter(rewriter, op, along[0], extent, width, *kind).emit();
  rewriter.eraseOp(op);
  return true;
}

}  // namespace kiln::schedule
