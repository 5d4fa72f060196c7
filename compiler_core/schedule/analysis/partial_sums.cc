#include "compiler_core/schedule/analysis/partial_sums.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

class PartialSums {
 public:
  PartialSums(OpBuilder& builder, Location loc, ArrayRef<OpFoldResult> extents, std::size_t sums,
              SumStep step)
      : b_(builder), loc_(loc), extents_(extents), sums_(sums), step_(step), at_(extents.size()) {}

  // `partials` holds those of one number together, as many as there are sums.
  SmallVector<Value> run(std::size_t depth, SmallVector<Value> partials) {
    const OpFoldResult extent = extents_[depth];
    if (depth + 1 < extents_.size())
      return loop(b_.getIndexAttr(0), extent, 1, partials, [&](Value iv, SmallVector<Value> inner) {
        at_[depth] = iv;
        return run(depth + 1, std::move(inner));
      });
    const OpFoldResult whole = affine::makeComposedFoldedAffineApply(
        b_, loc_, b_.getAffineDimExpr(0).floorDiv(kPartials) * kPartials, {extent});
    partials = loop(b_.getIndexAttr(0), whole, kPartials, partials, [&](Value iv, SmallVector<Value> inner) {
      for (std::int64_t partial = 0; partial < kPartials; ++partial) add(inner, partial, iv);
      return inner;
    });
    if (const auto number = getConstantIntValue(extent)) {
      for (std::int64_t partial = 0; partial < *number % kPartials; ++partial) add(partials, partial, whole);
      return partials;
    }
    for (std::int64_t partial = 0; partial + 1 < kPartials; ++partial) addBefore(partials, partial, whole);
    return partials;
  }

  SmallVector<Value> joined(SmallVector<Value> partials) {
    for (std::size_t half = kPartials / 2; half > 0; half /= 2)
      for (std::size_t i = 0; i < half * sums_ && i + half * sums_ < partials.size(); ++i)
        partials[i] = arith::AddFOp::create(b_, loc_, partials[i], partials[i + half * sums_]);
    partials.truncate(sums_);
    return partials;
  }

 private:
  Value index(OpFoldResult value) { return getValueOrCreateConstantIndexOp(b_, loc_, value); }

  SmallVector<Value> loop(OpFoldResult from, OpFoldResult to, std::int64_t by, ArrayRef<Value> values,
                          llvm::function_ref<SmallVector<Value>(Value, SmallVector<Value>)> body) {
    if (getConstantIntValue(to) == 0) return SmallVector<Value>(values);
    auto loop = scf::ForOp::create(b_, loc_, index(from), index(to), index(b_.getIndexAttr(by)), values);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b_, loc_,
                         body(loop.getInductionVar(), SmallVector<Value>(loop.getRegionIterArgs())));
    return SmallVector<Value>(loop.getResults());
  }

  // The element `partial` steps behind `from`.
  void add(SmallVector<Value>& partials, std::int64_t partial, OpFoldResult from) {
    at_.back() = affine::makeComposedFoldedAffineApply(b_, loc_, b_.getAffineDimExpr(0) + partial, {from});
    const std::size_t first = static_cast<std::size_t>(partial) * sums_;
    llvm::copy(step_(at_, ArrayRef(partials).slice(first, sums_)), partials.begin() + first);
  }
  // The same, where it lies within the extent.
  void addBefore(SmallVector<Value>& partials, std::int64_t partial, OpFoldResult from) {
    const std::size_t first = static_cast<std::size_t>(partial) * sums_;
    const OpFoldResult at =
        affine::makeComposedFoldedAffineApply(b_, loc_, b_.getAffineDimExpr(0) + partial, {from});
    Value inside =
        arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, index(at), index(extents_.back()));
    const SmallVector<Value> before(ArrayRef(partials).slice(first, sums_));
    auto guarded =
        scf::IfOp::create(b_, loc_, TypeRange(ValueRange(before)), inside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(guarded.elseBlock());
    scf::YieldOp::create(b_, loc_, before);
    b_.setInsertionPointToStart(guarded.thenBlock());
    at_.back() = at;
    scf::YieldOp::create(b_, loc_, step_(at_, before));
    llvm::copy(guarded.getResults(), partials.begin() + first);
  }

  OpBuilder& b_;
  Location loc_;
  ArrayRef<OpFoldResult> extents_;
  std::size_t sums_;
  SumStep step_;
  SmallVector<OpFoldResult> at_;
};

}  // namespace

SmallVector<Value> emitPartialSums(OpBuilder& builder, Location loc, ArrayRef<OpFoldResult> extents,
                                   ArrayRef<Value> zeros, SumStep step) {
  // Partials that no element reaches stay 0.
  const std::int64_t partials = std::min(kPartials, getConstantIntValue(extents.back()).value_or(kPartials));
  SmallVector<Value> begin;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(1, partials); ++i) llvm::append_range(begin, zeros);
  PartialSums sums(builder, loc, extents, zeros.size(), step);
  return sums.joined(sums.run(0, std::move(begin)));
}

}  // namespace kiln::schedule
