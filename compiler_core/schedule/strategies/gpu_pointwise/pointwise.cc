#include "compiler_core/schedule/strategies/gpu_pointwise/pointwise.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/body.h"
#include "compiler_core/schedule/analysis/partial_sums.h"
#include "compiler_core/schedule/analysis/roles.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

class PhaseEmitter {
 public:
  PhaseEmitter(RewriterBase& builder, linalg::LinalgOp op, const BlockThread& thread,
               const GpuOptions& options)
      : b_(builder), op_(op), loc_(op.getLoc()), thread_(thread), ivs_(op.getNumLoops()) {
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
    lanes_ = chooseLanes(getConstantIntValue(points), share);
    Share own = share;
    if (lanes_ > 1) {
      points = affine::makeComposedFoldedAffineApply(b_, loc_, d0.floorDiv(lanes_), {points});
      own.count /= lanes_;
      if (own.first) own.first = arith::DivUIOp::create(b_, loc_, own.first, index(lanes_));
    }
    distributeOverThreads(b_, loc_, points, thread_, own, [&](Value at) { emitPoint(at); });
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

  // How an operand moves along the lanes, the innermost parallel loop: not at all, or element by element.
  bool isUniform(OpOperand& operand) {
    return !op_.getMatchingIndexingMap(&operand).isFunctionOfDim(parallel_.back());
  }
  // Whether vectors of `lanes` of an operand begin where the machine wants it.
  bool isAligned(OpOperand& operand, std::int64_t lanes) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    const AffineMap map = op_.getMatchingIndexingMap(&operand);
    const unsigned lane = parallel_.back();
    if (!type || isUniform(operand)) return true;
    SmallVector<std::int64_t> strides;
    std::int64_t offset = 0;
    if (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1) return false;
    for (auto [i, expression] : llvm::enumerate(map.getResults())) {
      const bool last = i + 1 == map.getNumResults();
      if (last) {
        auto dim = dyn_cast<AffineDimExpr>(expression);
        if (!dim || dim.getPosition() != lane) return false;
      } else if (expression.isFunctionOfDim(lane) || ShapedType::isDynamic(strides[i]) ||
                 strides[i] % lanes) {
        return false;
      }
    }
    return alignmentOf(operand.get()) % (lanes * type.getElementTypeBitWidth() / 8) == 0;
  }

  // Results that a thread makes side by side: as many as fill 16 bytes of the widest element, if everything
  // that moves along with them is read and written as vectors.
  std::int64_t chooseLanes(std::optional<std::int64_t> points, const Share& share) {
    constexpr std::int64_t kBytes = 16, kMaxLanes = 8, kMaxCode = 512;
    if (parallel_.empty()) return 1;
    const auto extent = getConstantIntValue(sizes_[parallel_.back()]);
    if (!extent || isUniform(*op_.getDpsInitOperand(0))) return 1;
    std::int64_t widest = 1;
    for (OpOperand& operand : op_->getOpOperands())
      if (isa<MemRefType>(operand.get().getType()) && !isUniform(operand))
        widest = std::max<std::int64_t>(
            widest, getElementTypeOrSelf(operand.get().getType()).getIntOrFloatBitWidth() / 8);
    const auto code = static_cast<std::int64_t>(op_.getBlock()->getOperations().size());
    for (std::int64_t lanes = std::min(kBytes / widest, kMaxLanes); lanes > 1; lanes /= 2) {
      const std::int64_t together = lanes * thread_.count;
      if (*extent % lanes == 0 && lanes * code <= kMaxCode &&
          (share.first ? share.count % together == 0 : !points || *points >= together) &&
          llvm::all_of(op_->getOpOperands(), [&](OpOperand& operand) { return isAligned(operand, lanes); }))
        return lanes;
    }
    return 1;
  }

  // The results at position `linear` among all points, or groups of lanes.
  void emitPoint(Value linear) {
    const Type type = linear.getType();
    auto asIndex = [&](Value value) -> Value {
      return type.isIndex() ? value : arith::IndexCastUIOp::create(b_, loc_, b_.getIndexType(), value);
    };
    for (std::size_t i = parallel_.size(); i-- > 0;) {
      const unsigned dim = parallel_[i];
      const std::int64_t lanes = i + 1 == parallel_.size() ? lanes_ : 1;
      const auto extent = getConstantIntValue(sizes_[dim]);
      if (extent == lanes) {
        ivs_[dim] = b_.getIndexAttr(0);
        continue;
      }
      Value at = linear;
      const bool outermost = llvm::all_of(ArrayRef(parallel_).take_front(i), [&](unsigned outer) {
        return getConstantIntValue(sizes_[outer]) == 1;
      });
      if (!outermost) {
        Value size = extent ? number(type, *extent / lanes) : cast<Value>(sizes_[dim]);
        at = arith::RemUIOp::create(b_, loc_, linear, size);
        linear = arith::DivUIOp::create(b_, loc_, linear, size);
      }
      if (lanes > 1) at = arith::MulIOp::create(b_, loc_, at, number(type, lanes));
      ivs_[dim] = asIndex(at);
    }
    // The values of all results, lane by lane.
    SmallVector<Value> values(static_cast<std::size_t>(lanes_) * op_.getNumDpsInits());
    for (auto [i, init] : llvm::enumerate(op_.getDpsInitsMutable())) {
      if (!op_.payloadUsesValueFromOperand(&init)) continue;
      const SmallVector<Value> start = before(init);
      for (std::size_t lane = 0; lane < start.size(); ++lane)
        values[lane * op_.getNumDpsInits() + i] = start[lane];
    }
    values = ir::PartialsAttr::isOn(op_) ? sum(values) : reduce(0, values);
    for (auto [i, init] : llvm::enumerate(op_.getDpsInitsMutable())) {
      SmallVector<Value> own;
      for (std::size_t lane = 0; lane < static_cast<std::size_t>(lanes_); ++lane)
        own.push_back(values[lane * op_.getNumDpsInits() + i]);
      store(init, own);
    }
  }

  SmallVector<Value> indices(OpOperand& operand) {
    AffineMap map = op_.getMatchingIndexingMap(&operand);
    SmallVector<Value> result;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      result.push_back(getValueOrCreateConstantIndexOp(
          b_, loc_, affine::makeComposedFoldedAffineApply(b_, loc_, map.getSubMap({i}), ivs_)));
    return result;
  }

  VectorType vectorOf(OpOperand& operand) {
    return VectorType::get({lanes_}, getElementTypeOrSelf(operand.get().getType()));
  }
  llvm::MaybeAlign alignmentOfVector(OpOperand& operand) {
    return llvm::Align(static_cast<std::uint64_t>(lanes_ * vectorOf(operand).getElementTypeBitWidth() / 8));
  }

  // An element for each lane.
  SmallVector<Value> load(OpOperand& operand) {
    const auto lanes = static_cast<std::size_t>(lanes_);
    if (!isa<MemRefType>(operand.get().getType())) return SmallVector<Value>(lanes, operand.get());
    if (lanes_ == 1 || isUniform(operand)) {
      Value element = memref::LoadOp::create(b_, loc_, operand.get(), indices(operand));
      return SmallVector<Value>(lanes, element);
    }
    Value vector = vector::LoadOp::create(b_, loc_, vectorOf(operand), operand.get(), indices(operand),
                                          /*nontemporal=*/false, alignmentOfVector(operand));
    SmallVector<Value> elements;
    for (std::int64_t lane = 0; lane < lanes_; ++lane)
      elements.push_back(vector::ExtractOp::create(b_, loc_, vector, lane));
    return elements;
  }

  void store(OpOperand& init, ArrayRef<Value> elements) {
    if (lanes_ == 1) {
      memref::StoreOp::create(b_, loc_, elements[0], init.get(), indices(init));
      return;
    }
    Value vector = vector::FromElementsOp::create(b_, loc_, vectorOf(init), elements);
    vector::StoreOp::create(b_, loc_, vector, init.get(), indices(init), /*nontemporal=*/false,
                            alignmentOfVector(init));
  }

  // What a result is before the first step.
  SmallVector<Value> before(OpOperand& init) {
    if (auto start = ir::InitialAttr::get(op_))
      return SmallVector<Value>(static_cast<std::size_t>(lanes_),
                                arith::ConstantOp::create(b_, loc_, start).getResult());
    return load(init);
  }

  // `accumulators`: of each lane those of all results; null where the body does not read them.
  SmallVector<Value> reduce(std::size_t depth, ArrayRef<Value> accumulators) {
    if (depth == reductions_.size()) return step(accumulators);
    const unsigned dim = reductions_[depth];
    if (getConstantIntValue(sizes_[dim]) == 1) {
      ivs_[dim] = b_.getIndexAttr(0);
      return reduce(depth + 1, accumulators);
    }
    SmallVector<Value> carried(accumulators);
    // A result that ignores what it was keeps its last value.
    const unsigned inits = op_.getNumDpsInits();
    for (auto [i, init] : llvm::enumerate(op_.getDpsInitsMutable()))
      if (!carried[i])
        for (auto [lane, value] : llvm::enumerate(before(init))) carried[lane * inits + i] = value;
    Value to = getValueOrCreateConstantIndexOp(b_, loc_, sizes_[dim]);
    auto loop = scf::ForOp::create(b_, loc_, index(0), to, index(1), carried);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    ivs_[dim] = loop.getInductionVar();
    const SmallVector<Value> inner = reduce(depth + 1, SmallVector<Value>(loop.getRegionIterArgs()));
    scf::YieldOp::create(b_, loc_, inner);
    return SmallVector<Value>(loop.getResults());
  }

  // In the order of partial_sums.h; what the results were before is added last.
  SmallVector<Value> sum(ArrayRef<Value> start) {
    SmallVector<OpFoldResult> extents;
    for (unsigned dim : reductions_) extents.push_back(sizes_[dim]);
    const Type type = getElementTypeOrSelf(op_.getDpsInitOperand(0)->get().getType());
    Value zero = arith::ConstantOp::create(b_, loc_, b_.getZeroAttr(type));
    SmallVector<Value> sums = emitPartialSums(b_, loc_, extents, SmallVector<Value>(start.size(), zero),
                                              [&](ArrayRef<OpFoldResult> at, ArrayRef<Value> partials) {
                                                for (auto [dim, iv] : llvm::zip_equal(reductions_, at))
                                                  ivs_[dim] = iv;
                                                return step(partials);
                                              });
    for (auto [sum, before] : llvm::zip_equal(sums, start))
      sum = arith::AddFOp::create(b_, loc_, before, sum);
    return sums;
  }

  SmallVector<Value> step(ArrayRef<Value> accumulators) {
    SmallVector<SmallVector<Value>> inputs;
    for (OpOperand* input : op_.getDpsInputOperands())
      inputs.push_back(op_.payloadUsesValueFromOperand(input)
                           ? load(*input)
                           : SmallVector<Value>(static_cast<std::size_t>(lanes_)));
    SmallVector<Value> positions, results;
    if (op_.hasIndexSemantics())
      for (const OpFoldResult iv : ivs_) positions.push_back(getValueOrCreateConstantIndexOp(b_, loc_, iv));
    const Value lane0 = positions.empty() || parallel_.empty() ? Value() : positions[parallel_.back()];
    const unsigned inits = op_.getNumDpsInits();
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(lanes_); ++lane) {
      SmallVector<Value> arguments;
      for (const SmallVector<Value>& input : inputs) arguments.push_back(input[lane]);
      llvm::append_range(arguments, accumulators.slice(lane * inits, inits));
      if (lane > 0 && lane0)
        positions[parallel_.back()] =
            arith::AddIOp::create(b_, loc_, lane0, index(static_cast<std::int64_t>(lane)));
      llvm::append_range(results, emitBody(b_, op_, arguments, 0, fuse_, positions));
    }
    return results;
  }

  RewriterBase& b_;
  linalg::LinalgOp op_;
  Location loc_;
  BlockThread thread_;
  SmallVector<unsigned> parallel_, reductions_;  // loops, outermost first
  SmallVector<OpFoldResult> sizes_;              // the extent of every loop
  SmallVector<OpFoldResult> ivs_;                // the current index of every loop
  std::int64_t lanes_ = 1;  // results of a thread side by side, along the last parallel loop
  bool fuse_ = false;
};

}  // namespace

void emitPointwise(RewriterBase& rewriter, linalg::LinalgOp op, const BlockThread& thread,
                   const GpuOptions& options, const Share& share) {
  linalg::LinalgOp collapsed = collapseLoops(rewriter, op);
  PhaseEmitter(rewriter, collapsed, thread, options).emit(share);
  if (collapsed != op) rewriter.eraseOp(collapsed);
}

}  // namespace kiln::schedule
