#include "compiler_core/schedule/strategies/min_max/min_max.h"

#include "compiler_core/schedule/analysis/body.h"
#include "compiler_core/schedule/emit/cpu/unrolling.h"
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

class MinMaxEmitter {
 public:
  MinMaxEmitter(RewriterBase& builder, linalg::LinalgOp op, unsigned along, std::int64_t width,
                vector::CombiningKind kind)
      : b_(builder),
        op_(op),
        loc_(op.getLoc()),
        along_(along),
        extent_(loopExtent(builder, op, along)),
        width_(width),
        kind_(kind),
        ivs_(op.getNumLoops()) {}

  void emit() {
    SmallVector<unsigned> parallel;
    op_.getParallelDims(parallel);
    emitResults(parallel);
  }

 private:
  Value index(OpFoldResult value) { return getValueOrCreateConstantIndexOp(b_, loc_, value); }
  Value number(std::int64_t value) { return arith::ConstantIndexOp::create(b_, loc_, value); }

  void emitResults(ArrayRef<unsigned> loops) {
    if (loops.empty()) return emitResult();
    auto loop = scf::ForOp::create(b_, loc_, number(0), index(loopExtent(b_, op_, loops.front())), number(1));
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
  VectorType type() {
    return VectorType::get({width_}, getElementTypeOrSelf(op_.getDpsInputOperand(0)->get().getType()));
  }
  Value load(Value at) {
    OpOperand* input = op_.getDpsInputOperand(0);
    ivs_[along_] = at;
    return vector::LoadOp::create(b_, loc_, type(), input->get(), indices(input));
  }
  Value combine(Value a, Value b, std::int64_t lanes) {
    if (!plain_) return emitBody(b_, op_, {a, b}, lanes, false).front();
    const auto wins =
        kind_ == vector::CombiningKind::MAXIMUMF ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
    return arith::SelectOp::create(b_, loc_, arith::CmpFOp::create(b_, loc_, wins, a, b), a, b);
  }
  // A vector of elements, into what is best so far.
  Value take(Value elements, Value best) {
    if (plain_) {
      Value code = arith::BitcastOp::create(b_, loc_, codes(), elements);
      Value positive = arith::AndIOp::create(b_, loc_, code, constant(codes(), kSignless));
      magnitude_ = arith::MaxUIOp::create(b_, loc_, magnitude_, positive);
    }
    return combine(elements, best, width_);
  }
  VectorType codes() { return VectorType::get({width_}, b_.getI32Type()); }
  Value constant(Type type, std::int64_t value) {
    const IntegerAttr number = b_.getI32IntegerAttr(static_cast<std::int32_t>(value));
    if (!isa<VectorType>(type)) return arith::ConstantOp::create(b_, loc_, number);
    return arith::ConstantOp::create(b_, loc_,
                                     DenseElementsAttr::get(cast<VectorType>(type), Attribute(number)));
  }

  void emitResult() {
    OpOperand* out = op_.getDpsInitOperand(0);
    Value before = memref::LoadOp::create(b_, loc_, out->get(), indices(out));
    const auto extent = getConstantIntValue(extent_);
    auto best = [&] { return bestLane(extent && *extent >= width_ ? bestOf(*extent) : bestFrom(before)); };
    Value found = before.getType().isF32() ? bestOfPlain(best) : best();
    memref::StoreOp::create(b_, loc_, combine(found, before, 0), out->get(), indices(out));
  }

  Value bestLane(Value lanes) {
    if (!plain_) return vector::ReductionOp::create(b_, loc_, kind_, lanes);
    for (std::int64_t half = width_ / 2; half > 0; half /= 2) {
      const auto first = llvm::to_vector(llvm::seq<std::int64_t>(0, half)),
                 second = llvm::to_vector(llvm::seq<std::int64_t>(half, 2 * half));
      lanes = combine(vector::ShuffleOp::create(b_, loc_, lanes, lanes, first),
                      vector::ShuffleOp::create(b_, loc_, lanes, lanes, second), half);
    }
    return vector::ExtractOp::create(b_, loc_, lanes, std::int64_t{0});
  }

  // Neither NaNs nor the sign of a zero matter to a comparison. A row that has a NaN, or whose best is a
  // zero, is gone through once more.
  Value bestOfPlain(llvm::function_ref<Value()> best) {
    plain_ = true;
    magnitude_ = constant(codes(), 0);
    Value found = best();
    plain_ = false;
    Value largest = vector::ReductionOp::create(b_, loc_, vector::CombiningKind::MAXUI, magnitude_);
    Value isNan = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::ugt, largest,
                                        constant(b_.getI32Type(), kInfinity));
    Value zero = arith::ConstantOp::create(b_, loc_, b_.getF32FloatAttr(0));
    Value isZero = arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::OEQ, found, zero);
    auto again = scf::IfOp::create(b_, loc_, found.getType(), arith::OrIOp::create(b_, loc_, isNan, isZero),
                                   /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(again.elseBlock());
    scf::YieldOp::create(b_, loc_, found);
    b_.setInsertionPointToStart(again.thenBlock());
    scf::YieldOp::create(b_, loc_, best());
    return again.getResult(0);
  }

  // A loop that carries what is best so far.
  SmallVector<Value> loop(std::int64_t from, OpFoldResult to, std::int64_t step, ArrayRef<Value> values,
                          llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    SmallVector<Value> carried(values);
    if (plain_) carried.push_back(magnitude_);
    auto loop = scf::ForOp::create(b_, loc_, number(from), index(to), number(step), carried);
    if (isLongRow(extent_, type().getElementType())) disableUnrolling(loop);
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(loop.getBody());
      if (plain_) magnitude_ = loop.getRegionIterArgs().back();
      SmallVector<Value> next =
          body(loop.getInductionVar(), ValueRange(loop.getRegionIterArgs()).take_front(values.size()));
      if (plain_) next.push_back(magnitude_);
      scf::YieldOp::create(b_, loc_, next);
    }
    if (plain_) magnitude_ = loop.getResults().back();
    return SmallVector<Value>(loop.getResults().take_front(values.size()));
  }

  // Takes any number of elements: those that fill no vector are loaded under a mask.
  Value bestFrom(Value before) {
    const OpFoldResult whole = affine::makeComposedFoldedAffineApply(
        b_, loc_, b_.getAffineDimExpr(0).floorDiv(width_) * width_, {extent_});
    Value begin = splat(b_, loc_, before, width_);
    Value best = loop(0, whole, width_, begin, [&](Value at, ValueRange so) -> SmallVector<Value> {
                   return {take(load(at), so.front())};
                 }).front();
    const OpFoldResult left = affine::makeComposedFoldedAffineApply(
        b_, loc_, b_.getAffineDimExpr(0) - b_.getAffineDimExpr(1), {extent_, whole});
    Value mask =
        vector::CreateMaskOp::create(b_, loc_, VectorType::get({width_}, b_.getI1Type()), index(left));
    OpOperand* input = op_.getDpsInputOperand(0);
    ivs_[along_] = index(whole);
    return take(vector::MaskedLoadOp::create(b_, loc_, type(), input->get(), indices(input), mask, best),
                best);
  }

  Value bestOf(std::int64_t extent) {
    const std::int64_t most = isLongRow(extent_, type().getElementType()) ? 1 : 4;
    const std::int64_t chains = std::min(most, extent / width_), step = chains * width_;
    const std::int64_t whole = extent / step * step;
    SmallVector<Value> best;
    for (std::int64_t i = 0; i < chains; ++i) {
      Value first = load(number(i * width_));
      best.push_back(plain_ ? take(first, first) : first);
    }
    if (whole > step)
      best = loop(step, b_.getIndexAttr(whole), step, best, [&](Value from, ValueRange so) {
        SmallVector<Value> next;
        for (auto [i, value] : llvm::enumerate(so)) {
          Value at = affine::makeComposedAffineApply(
              b_, loc_, b_.getAffineDimExpr(0) + static_cast<std::int64_t>(i) * width_, {OpFoldResult(from)});
          next.push_back(take(load(at), value));
        }
        return next;
      });
    // What is left ends with a vector that may repeat elements.
    for (std::int64_t at = whole; at < extent; at += width_)
      best[0] = take(load(number(std::min(at, extent - width_))), best[0]);
    Value all = best[0];
    for (Value other : ArrayRef(best).drop_front()) all = combine(other, all, width_);
    return all;
  }

  RewriterBase& b_;
  linalg::LinalgOp op_;
  Location loc_;
  unsigned along_;
  OpFoldResult extent_;
  std::int64_t width_;
  vector::CombiningKind kind_;
  SmallVector<Value> ivs_;
  // Bit patterns of f32.
  static constexpr std::int64_t kSignless = 0x7fffffff, kInfinity = 0x7f800000;
  bool plain_ = false;  // by comparisons alone
  Value magnitude_;     // then the largest codes without their signs
};

}  // namespace

bool emitMinMax(RewriterBase& rewriter, linalg::LinalgOp op, const VectorShape& shape) {
  const auto kind = kindOf(op);
  if (!kind || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 1)
    return false;
  OpOperand* input = op.getDpsInputOperand(0);
  auto type = dyn_cast<MemRefType>(input->get().getType());
  const AffineMap map = op.getMatchingIndexingMap(input);
  if (!type || !map.isProjectedPermutation()) return false;
  SmallVector<unsigned> along;
  op.getReductionDims(along);
  const std::int64_t width = shape.bits / std::max<std::int64_t>(8, type.getElementTypeBitWidth());
  // Less than a vector is loaded under a mask, which not every processor has for small elements.
  if (op.getStaticLoopRanges()[along[0]] < width && !shape.masks && type.getElementTypeBitWidth() < 32)
    return false;
  // The vectors must not leave the buffer's innermost dimension.
  if (map.getResult(map.getNumResults() - 1) != getAffineDimExpr(along[0], op.getContext()) ||
      strideAlong(map, type, along[0]) != 1)
    return false;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  MinMaxEmitter(rewriter, op, along[0], width, *kind).emit();
  rewriter.eraseOp(op);
  return true;
}

}  // namespace kiln::schedule
