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
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) sizes_.push_back(loopExtent(b_, op, loop));
    // As the block emitter of the CPU does it: the bits are the same.
    fuse_ = options.contraction && !reductions_.empty() && findRoles(op, {}).has_value();
  }

  void emit(const Share& share) {
    OpFoldResult points = b_.getIndexAttr(1);
    const AffineExpr d0 = b_.getAffineDimExpr(0), s0 = b_.getAffineSymbolExpr(0);
    for (unsigned dim : parallel_)
      points = affine::makeComposedFoldedAffineApply(b_, loc_, d0 * s0, {points, sizes_[dim]});
    dealOut(b_, loc_, points, thread_, options_.threads, share, [&](Value at) { emitPoint(at); });
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

  Value number(Type type, std::int64_t value) {
    return arith::ConstantOp::create(b_, loc_, b_.getIntegerAttr(type, value));
  }
  Value index(std::int64_t value) { return arith::ConstantIndexOp::create(b_, loc_, value); }

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
      values.push_back(op_.payloadUsesValueFromOperand(&init) ? before(init) : Value());
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

  // What a result is before the first step.
  Value before(OpOperand& init) {
    if (auto number = op_->getAttrOfType<TypedAttr>(kInitialAttr))
      return arith::ConstantOp::create(b_, loc_, number);
    return load(init);
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
      if (!value) value = before(init);
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
  bool fuse_ = false;
};

}  // namespace

OpFoldResult loopExtent(OpBuilder& b, linalg::LinalgOp op, unsigned loop) {
  const std::int64_t fixed = op.getStaticLoopRanges()[loop];
  if (!ShapedType::isDynamic(fixed)) return b.getIndexAttr(fixed);
  for (OpOperand& operand : op->getOpOperands())
    for (auto [i, expression] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expression); dim && dim.getPosition() == loop)
        return b.createOrFold<memref::DimOp>(op.getLoc(), operand.get(), static_cast<std::int64_t>(i));
  llvm_unreachable("a loop of linalg runs along a dimension of an operand");
}

void emitPointwise(RewriterBase& rewriter, linalg::LinalgOp op, Value thread, const GpuOptions& options,
                   const Share& share) {
  PhaseEmitter(rewriter, op, thread, options).emit(share);
}

}  // namespace kiln::schedule
