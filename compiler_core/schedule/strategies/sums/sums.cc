#include "compiler_core/schedule/strategies/sums/sums.h"

#include "compiler_core/schedule/analysis/body.h"
#include "compiler_core/schedule/analysis/partial_sums.h"
#include "compiler_core/schedule/emit/cpu/unrolling.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// Whether an operand is the same, or the next element, with the next step along `dim`.
bool liesAlong(linalg::LinalgOp op, OpOperand& operand, unsigned dim) {
  const auto stride = strideAlong(op.getMatchingIndexingMap(&operand), operand.get().getType(), dim);
  return stride == 0 || stride == 1;
}
bool allLieAlong(linalg::LinalgOp op, unsigned dim) {
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand* input) { return liesAlong(op, *input, dim); });
}
bool isInvariant(linalg::LinalgOp op, OpOperand& operand, unsigned dim) {
  return !isa<MemRefType>(operand.get().getType()) ||
         !op.getMatchingIndexingMap(&operand).isFunctionOfDim(dim);
}

class SumEmitter {
 public:
  SumEmitter(RewriterBase& builder, const FusedReduction& row, const VectorShape& shape, bool contraction)
      : b_(builder),
        row_(row),
        op_(row.sum),
        loc_(op_.getLoc()),
        roles_(findRoles(op_, shape)),
        ivs_(op_.getNumLoops()),
        alongRows_(sumsAlongRows(op_, shape)) {
    op_.getReductionDims(reductions_);
    fuse_ = contraction && roles_;
    for (unsigned loop = 0; loop < op_.getNumLoops(); ++loop) sizes_.push_back(loopExtent(b_, op_, loop));
    sum_ = getElementTypeOrSelf(op_.getDpsInitOperand(0)->get().getType());
  }

  void emit() {
    SmallVector<unsigned> parallel;
    op_.getParallelDims(parallel);
    if (!alongRows_ && roles_ && roles_->lanes && allLieAlong(op_, *roles_->lanes)) {
      lanes_ = roles_->lanes;
      llvm::erase(parallel, *lanes_);
    }
    emitResults(parallel);
  }

 private:
  Value index(OpFoldResult value) { return getValueOrCreateConstantIndexOp(b_, loc_, value); }
  Value zero(Type type) { return arith::ConstantOp::create(b_, loc_, b_.getZeroAttr(type)); }

  void loop(OpFoldResult from, OpFoldResult to, std::int64_t step, llvm::function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b_, loc_, index(from), index(to), index(b_.getIndexAttr(step)));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  void emitResults(ArrayRef<unsigned> loops) {
    if (!loops.empty())
      return loop(b_.getIndexAttr(0), sizes_[loops.front()], 1, [&](Value iv) {
        ivs_[loops.front()] = iv;
        emitResults(loops.drop_front());
      });
    if (alongRows_) return store(sumAlongRow(), 0);
    if (!lanes_) return store(sumOf(0), 0);
    // Registers of results side by side, then what is left.
    const std::int64_t width = roles_->width;
    const OpFoldResult extent = sizes_[*lanes_],
                       whole = affine::makeComposedFoldedAffineApply(
                           b_, loc_, b_.getAffineDimExpr(0).floorDiv(width) * width, {extent});
    auto run = [&](OpFoldResult from, OpFoldResult to, std::int64_t step) {
      loop(from, to, step, [&](Value iv) {
        ivs_[*lanes_] = iv;
        const std::int64_t lanes = step == 1 ? 0 : step;
        store(sumOf(lanes), lanes);
      });
    };
    run(b_.getIndexAttr(0), whole, width);
    const auto number = getConstantIntValue(extent);
    run(whole, extent, number ? std::max<std::int64_t>(1, *number % width) : 1);
  }

  SmallVector<Value> indices(OpOperand& operand) {
    const AffineMap map = cast<linalg::LinalgOp>(operand.getOwner()).getMatchingIndexingMap(&operand);
    SmallVector<Value> result;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      result.push_back(index(affine::makeComposedFoldedAffineApply(b_, loc_, map.getSubMap({i}), ivs_)));
    return result;
  }

  // As vectors of `lanes` along `dim`, of which `mask` (all, if null) count; lanes 0: one element.
  Value load(OpOperand& operand, unsigned dim, std::int64_t lanes, Value mask) {
    if (!isa<MemRefType>(operand.get().getType())) return splat(b_, loc_, operand.get(), lanes);
    const SmallVector<Value> at = indices(operand);
    if (lanes == 0 || isInvariant(cast<linalg::LinalgOp>(operand.getOwner()), operand, dim))
      return splat(b_, loc_, memref::LoadOp::create(b_, loc_, operand.get(), at), lanes);
    const auto type = VectorType::get({lanes}, getElementTypeOrSelf(operand.get().getType()));
    if (!mask) return vector::LoadOp::create(b_, loc_, type, operand.get(), at);
    return vector::MaskedLoadOp::create(b_, loc_, type, operand.get(), at, mask, zero(type));
  }

  using Made = llvm::SmallDenseMap<Value, Value>;  // by buffer: its elements here

  // The parts' results at ivs_.
  Made makeElements(unsigned dim, std::int64_t lanes, Value mask) {
    Made made;
    for (auto [at, isKept] : llvm::zip_equal(row_.parts, row_.kept)) {
      linalg::LinalgOp part = at;
      SmallVector<Value> arguments;
      for (OpOperand& operand : part->getOpOperands()) {
        const bool isRead = part.payloadUsesValueFromOperand(&operand);
        arguments.push_back(isRead ? elements(operand, made, dim, lanes, mask) : Value());
      }
      Value result = emitBody(b_, part, arguments, lanes, /*fuse=*/false).front();
      OpOperand* out = part.getDpsInitOperand(0);
      made[out->get()] = result;
      if (!isKept) continue;
      if (mask)
        vector::MaskedStoreOp::create(b_, loc_, out->get(), indices(*out), mask, result);
      else
        vector::StoreOp::create(b_, loc_, result, out->get(), indices(*out));
    }
    return made;
  }
  Value elements(OpOperand& operand, const Made& made, unsigned dim, std::int64_t lanes, Value mask) {
    if (const auto found = made.find(operand.get()); found != made.end()) return found->second;
    if (const auto found = invariants_.find(&operand); found != invariants_.end())
      return splat(b_, loc_, found->second, lanes);
    return load(operand, dim, lanes, mask);
  }

  // What is one number for a whole row, before the row: stores between its elements would have it read again
  // and again.
  void loadInvariants(unsigned dim) {
    for (linalg::LinalgOp part : row_.parts)
      for (OpOperand* input : part.getDpsInputOperands())
        if (isa<MemRefType>(input->get().getType()) && isInvariant(part, *input, dim))
          invariants_[input] = memref::LoadOp::create(b_, loc_, input->get(), indices(*input));
  }

  // The body at ivs_, over vectors along `dim`.
  Value add(Value before, unsigned dim, std::int64_t lanes, Value mask) {
    const Made made = makeElements(dim, lanes, mask);
    SmallVector<Value> arguments, positions;
    for (OpOperand* input : op_.getDpsInputOperands())
      arguments.push_back(op_.payloadUsesValueFromOperand(input) ? elements(*input, made, dim, lanes, mask)
                                                                 : Value());
    arguments.push_back(before);
    if (op_.hasIndexSemantics())
      for (const OpFoldResult iv : ivs_) positions.push_back(index(iv));
    return emitBody(b_, op_, arguments, lanes, fuse_, positions).front();
  }

  // One value per partial.
  Value sumOf(std::int64_t lanes) {
    SmallVector<OpFoldResult> extents;
    for (unsigned dim : reductions_) extents.push_back(sizes_[dim]);
    const Type type = lanes ? Type(VectorType::get({lanes}, sum_)) : sum_;
    return emitPartialSums(b_, loc_, extents, zero(type),
                           [&](ArrayRef<OpFoldResult> at, ArrayRef<Value> partials) -> SmallVector<Value> {
                             for (auto [dim, iv] : llvm::zip_equal(reductions_, at)) ivs_[dim] = iv;
                             return {add(partials[0], lanes_.value_or(0), lanes, {})};
                           })
        .front();
  }

  // Registers of partials side by side.
  Value sumAlongRow() {
    const std::int64_t width = std::min(kPartials, roles_->width);
    const auto type = VectorType::get({width}, sum_);
    SmallVector<Value> registers(static_cast<std::size_t>(kPartials / width), zero(type));
    registers = addAlongRow(0, std::move(registers), width);
    for (; registers.size() > 1; registers.truncate(registers.size() / 2))
      for (std::size_t i = 0, half = registers.size() / 2; i < half; ++i)
        registers[i] = arith::AddFOp::create(b_, loc_, registers[i], registers[i + half]);
    Value sum = registers[0];
    for (std::int64_t half = width / 2; half > 0; half /= 2) {
      const auto first = llvm::to_vector(llvm::seq<std::int64_t>(0, half)),
                 second = llvm::to_vector(llvm::seq<std::int64_t>(half, 2 * half));
      sum = arith::AddFOp::create(b_, loc_, vector::ShuffleOp::create(b_, loc_, sum, sum, first),
                                  vector::ShuffleOp::create(b_, loc_, sum, sum, second));
    }
    return vector::ExtractOp::create(b_, loc_, sum, std::int64_t{0});
  }

  SmallVector<Value> addAlongRow(std::size_t depth, SmallVector<Value> registers, std::int64_t width) {
    const unsigned dim = reductions_[depth];
    auto carry = [&](OpFoldResult to, std::int64_t step,
                     llvm::function_ref<SmallVector<Value>(SmallVector<Value>)> body) {
      if (getConstantIntValue(to) == 0) return registers;
      auto loop = scf::ForOp::create(b_, loc_, index(b_.getIndexAttr(0)), index(to),
                                     index(b_.getIndexAttr(step)), registers);
      if (step > 1 && isLongRow(to, sum_)) disableUnrolling(loop);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(loop.getBody());
      ivs_[dim] = loop.getInductionVar();
      scf::YieldOp::create(b_, loc_, body(SmallVector<Value>(loop.getRegionIterArgs())));
      return SmallVector<Value>(loop.getResults());
    };
    const OpFoldResult extent = sizes_[dim];
    if (depth + 1 < reductions_.size())
      return carry(extent, 1,
                   [&](SmallVector<Value> inner) { return addAlongRow(depth + 1, std::move(inner), width); });
    ivs_[dim] = b_.getIndexAttr(0);
    loadInvariants(dim);
    // All partials at a time, then the elements that are left.
    const OpFoldResult whole = affine::makeComposedFoldedAffineApply(
        b_, loc_, b_.getAffineDimExpr(0).floorDiv(kPartials) * kPartials, {extent});
    auto addAll = [&](SmallVector<Value> inner, OpFoldResult from, bool isRest) {
      for (std::size_t i = 0; i < inner.size(); ++i) {
        const OpFoldResult at = affine::makeComposedFoldedAffineApply(
            b_, loc_, b_.getAffineDimExpr(0) + static_cast<std::int64_t>(i) * width, {from});
        const OpFoldResult left = affine::makeComposedFoldedAffineApply(
            b_, loc_, b_.getAffineDimExpr(0) - b_.getAffineDimExpr(1), {extent, at});
        const auto known = getConstantIntValue(left);
        if (isRest && known && *known <= 0) break;
        ivs_[dim] = at;
        Value mask;
        if (isRest && (!known || *known < width))
          mask =
              vector::CreateMaskOp::create(b_, loc_, VectorType::get({width}, b_.getI1Type()), index(left));
        Value sum = add(inner[i], dim, width, mask);
        inner[i] = mask ? arith::SelectOp::create(b_, loc_, mask, sum, inner[i]) : sum;
      }
      return inner;
    };
    registers = carry(whole, kPartials, [&](SmallVector<Value> inner) {
      return addAll(std::move(inner), ivs_[dim], /*isRest=*/false);
    });
    return addAll(std::move(registers), whole, /*isRest=*/true);
  }

  // What the result was before is added last.
  void store(Value sum, std::int64_t lanes) {
    OpOperand* out = op_.getDpsInitOperand(0);
    const SmallVector<Value> at = indices(*out);
    if (lanes == 0) {
      Value before = memref::LoadOp::create(b_, loc_, out->get(), at);
      memref::StoreOp::create(b_, loc_, arith::AddFOp::create(b_, loc_, before, sum), out->get(), at);
      return;
    }
    Value before = vector::LoadOp::create(b_, loc_, cast<VectorType>(sum.getType()), out->get(), at);
    vector::StoreOp::create(b_, loc_, arith::AddFOp::create(b_, loc_, before, sum), out->get(), at);
  }

  RewriterBase& b_;
  const FusedReduction& row_;
  linalg::LinalgOp op_;
  Location loc_;
  std::optional<Roles> roles_;        // of the block emitter; null where the body is not for vectors
  SmallVector<unsigned> reductions_;  // outermost first
  SmallVector<OpFoldResult> sizes_;   // the extent of every loop
  SmallVector<OpFoldResult> ivs_;     // the current index of every loop
  bool alongRows_;
  Type sum_;
  bool fuse_ = false;
  llvm::SmallDenseMap<OpOperand*, Value> invariants_;  // of the parts, by operand: the number of the row
  std::optional<unsigned> lanes_;                      // the parallel loop along which vectors lie
};

}  // namespace

bool sumsAlongRows(linalg::LinalgOp op, const VectorShape& shape) {
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  return findRoles(op, shape) && isSafeOnPaddingLanes(op) && allLieAlong(op, reductions.back());
}

void emitSum(RewriterBase& rewriter, const FusedReduction& row, const VectorShape& shape, bool contraction) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(row.sum);
  SumEmitter(rewriter, row, shape, contraction).emit();
  rewriter.eraseOp(row.sum);
  for (linalg::LinalgOp part : llvm::reverse(row.parts)) rewriter.eraseOp(part);
}

}  // namespace kiln::schedule
