#include <limits>

#include "compiler_core/schedule/gpu/emit.h"
#include "compiler_core/schedule/vectorize/body.h"
#include "compiler_core/schedule/vectorize/roles.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

class PhaseEmitter {
 public:
  PhaseEmitter(RewriterBase& builder, linalg::LinalgOp op, Value thread, const GpuOptions& options)
      : b_(builder), op_(op), loc_(op.getLoc()), thread_(thread), options_(options), ivs_(op.getNumLoops()) {
    op.getReductionDims(reductions_);
    orderParallel();
    readSizes();
    // As the block emitter of the CPU does it: the bits are the same.
    fuse_ = options.contraction && !reductions_.empty() && findRoles(op, {}).has_value();
  }

  void emit(const Share& share) {
    if (points_ && *points_ <= std::numeric_limits<std::int32_t>::max() && !share.first)
      return emitFixed(b_.getI32Type(), *points_);
    emitBounded(share);
  }

 private:
  // Parallel loops, those of the first result's dimensions innermost and in their order: neighbouring threads
  // write neighbouring elements.
  void orderParallel() {
    SmallVector<unsigned> parallel, inResult;
    op_.getParallelDims(parallel);
    for (AffineExpr expression : op_.getMatchingIndexingMap(op_.getDpsInitOperand(0)).getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expression);
          dim && llvm::is_contained(parallel, dim.getPosition()))
        inResult.push_back(dim.getPosition());
    for (unsigned dim : parallel)
      if (!llvm::is_contained(inResult, dim)) parallel_.push_back(dim);
    parallel_.append(inResult);
  }

  void readSizes() {
    const SmallVector<std::int64_t> fixed = op_.getStaticLoopRanges();
    for (const std::int64_t extent : fixed) sizes_.push_back(b_.getIndexAttr(extent));
    for (OpOperand& operand : op_->getOpOperands())
      for (auto [i, expression] : llvm::enumerate(op_.getMatchingIndexingMap(&operand).getResults())) {
        auto loop = dyn_cast<AffineDimExpr>(expression);
        if (!loop || !ShapedType::isDynamic(fixed[loop.getPosition()])) continue;
        OpFoldResult& size = sizes_[loop.getPosition()];
        if (!isa<Value>(size))
          size = b_.createOrFold<memref::DimOp>(loc_, operand.get(), static_cast<std::int64_t>(i));
      }
    points_ = 1;
    for (unsigned dim : parallel_) {
      const auto extent = getConstantIntValue(sizes_[dim]);
      if (!extent || __builtin_mul_overflow(*points_, *extent, &*points_)) return points_.reset();
    }
  }

  Value number(Type type, std::int64_t value) {
    return arith::ConstantOp::create(b_, loc_, b_.getIntegerAttr(type, value));
  }
  Value index(std::int64_t value) { return arith::ConstantIndexOp::create(b_, loc_, value); }

  // A number of points that is known: full rounds of all threads, then those that are left over. Positions
  // are calculated in `type`.
  void emitFixed(Type type, std::int64_t points) {
    const std::int64_t threads = options_.threads, rounds = points / threads, rest = points % threads;
    Value thread = arith::IndexCastOp::create(b_, loc_, type, thread_);
    if (rounds == 1) {
      emitPoint(thread);
    } else if (rounds > 1) {
      auto loop = scf::ForOp::create(b_, loc_, number(type, 0), number(type, rounds), number(type, 1));
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(loop.getBody());
      Value base = arith::MulIOp::create(b_, loc_, loop.getInductionVar(), number(type, threads));
      emitPoint(arith::AddIOp::create(b_, loc_, base, thread));
    }
    if (rest == 0) return;
    Value inside = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::ult, thread, number(type, rest));
    auto guarded = scf::IfOp::create(b_, loc_, inside);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(guarded.thenBlock());
    emitPoint(rounds == 0
                  ? thread
                  : arith::AddIOp::create(b_, loc_, thread, number(type, rounds * threads)).getResult());
  }

  // A share, or a number of points that only the run knows.
  void emitBounded(const Share& share) {
    Value points = index(1);
    for (unsigned dim : parallel_)
      points =
          arith::MulIOp::create(b_, loc_, points, getValueOrCreateConstantIndexOp(b_, loc_, sizes_[dim]));
    Value from = thread_, to = points;
    if (share.first) {
      from = arith::AddIOp::create(b_, loc_, share.first, thread_);
      Value end = arith::AddIOp::create(b_, loc_, share.first, index(share.count));
      to = arith::MinUIOp::create(b_, loc_, end, points);
    }
    auto loop = scf::ForOp::create(b_, loc_, from, to, index(options_.threads));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Value at = loop.getInductionVar();
    if (points_ && *points_ <= std::numeric_limits<std::int32_t>::max())
      at = arith::IndexCastOp::create(b_, loc_, b_.getI32Type(), at);
    emitPoint(at);
  }

  // The results at position `linear` among all points.
  void emitPoint(Value linear) {
    const Type type = linear.getType();
    auto asIndex = [&](Value value) -> Value {
      return type.isIndex() ? value : arith::IndexCastUIOp::create(b_, loc_, b_.getIndexType(), value);
    };
    auto size = [&](unsigned dim) -> Value {
      if (const auto extent = getConstantIntValue(sizes_[dim])) return number(type, *extent);
      return cast<Value>(sizes_[dim]);
    };
    for (std::size_t i = parallel_.size(); i-- > 0;) {
      const unsigned dim = parallel_[i];
      if (getConstantIntValue(sizes_[dim]) == 1) {
        ivs_[dim] = b_.getIndexAttr(0);
        continue;
      }
      const bool last = i == 0;
      ivs_[dim] = asIndex(last ? linear : arith::RemUIOp::create(b_, loc_, linear, size(dim)).getResult());
      if (!last) linear = arith::DivUIOp::create(b_, loc_, linear, size(dim));
    }
    SmallVector<Value> values;
    for (OpOperand& init : op_.getDpsInitsMutable())
      values.push_back(op_.payloadUsesValueFromOperand(&init) ? load(init) : Value());
    // What the body does not read is no accumulator.
    values = reduce(0, values);
    for (auto [init, value] : llvm::zip_equal(op_.getDpsInitsMutable(), values))
      memref::StoreOp::create(b_, loc_, value, init.get(), indices(init));
  }

  SmallVector<Value> indices(OpOperand& operand) {
    AffineMap map = op_.getMatchingIndexingMap(&operand);
    SmallVector<Value> result;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      result.push_back(getValueOrCreateConstantIndexOp(
          b_, loc_, affine::makeComposedFoldedAffineApply(b_, loc_, map.getSubMap({i}), ivs_)));
    return result;
  }

  Value load(OpOperand& operand) {
    if (!isa<MemRefType>(operand.get().getType())) return operand.get();
    return memref::LoadOp::create(b_, loc_, operand.get(), indices(operand));
  }

  SmallVector<Value> reduce(std::size_t depth, ArrayRef<Value> accumulators) {
    if (depth == reductions_.size()) return step(accumulators);
    const unsigned dim = reductions_[depth];
    if (getConstantIntValue(sizes_[dim]) == 1) {
      ivs_[dim] = b_.getIndexAttr(0);
      return reduce(depth + 1, accumulators);
    }
    SmallVector<Value> carried(accumulators);
    // A result that ignores what it was keeps its last value.
    for (auto [value, init] : llvm::zip_equal(carried, op_.getDpsInitsMutable()))
      if (!value) value = load(init);
    Value to = getValueOrCreateConstantIndexOp(b_, loc_, sizes_[dim]);
    auto loop = scf::ForOp::create(b_, loc_, index(0), to, index(1), carried);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    ivs_[dim] = loop.getInductionVar();
    const SmallVector<Value> inner = reduce(depth + 1, SmallVector<Value>(loop.getRegionIterArgs()));
    scf::YieldOp::create(b_, loc_, inner);
    return SmallVector<Value>(loop.getResults());
  }

  SmallVector<Value> step(ArrayRef<Value> accumulators) {
    SmallVector<Value> arguments, positions;
    for (OpOperand* input : op_.getDpsInputOperands())
      arguments.push_back(op_.payloadUsesValueFromOperand(input) ? load(*input) : Value());
    arguments.append(accumulators.begin(), accumulators.end());
    for (const OpFoldResult iv : ivs_) positions.push_back(getValueOrCreateConstantIndexOp(b_, loc_, iv));
    return emitBody(b_, op_, arguments, 0, fuse_, positions);
  }

  RewriterBase& b_;
  linalg::LinalgOp op_;
  Location loc_;
  Value thread_;
  const GpuOptions& options_;
  SmallVector<unsigned> parallel_, reductions_;  // loops, outermost first
  SmallVector<OpFoldResult> sizes_;              // the extent of every loop
  SmallVector<OpFoldResult> ivs_;                // the current index of every loop
  std::optional<std::int64_t> points_;           // of the parallel loops, where it is a number
  bool fuse_ = false;
};

}  // namespace

void emitPointwise(RewriterBase& rewriter, linalg::LinalgOp op, Value thread, const GpuOptions& options,
                   const Share& share) {
  PhaseEmitter(rewriter, op, thread, options).emit(share);
}

}  // namespace kiln::schedule
