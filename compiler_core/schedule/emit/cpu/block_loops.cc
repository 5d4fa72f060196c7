#include "compiler_core/schedule/emit/cpu/block_loops.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {

using namespace mlir;

void emitLoop(OpBuilder& b, Location loc, OpFoldResult from, OpFoldResult to, std::int64_t step,
              llvm::function_ref<void(OpFoldResult)> body) {
  const auto first = getConstantIntValue(from), last = getConstantIntValue(to);
  if (first && last) {
    if (*first >= *last) return;
    if (*last - *first <= step) return body(from);
  }
  auto at = [&](OpFoldResult value) { return getValueOrCreateConstantIndexOp(b, loc, value); };
  auto loop = scf::ForOp::create(b, loc, at(from), at(to), at(b.getIndexAttr(step)));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void emitChunks(OpBuilder& b, Location loc, OpFoldResult to, std::int64_t step,
                ArrayRef<std::int64_t> remainder, llvm::function_ref<void(OpFoldResult, std::int64_t)> body) {
  if (const auto extent = getConstantIntValue(to)) {
    const std::int64_t whole = *extent / step * step;
    emitLoop(b, loc, b.getIndexAttr(0), b.getIndexAttr(whole), step,
             [&](OpFoldResult iv) { body(iv, step); });
    if (whole < *extent) body(b.getIndexAttr(whole), *extent - whole);
    return;
  }
  OpFoldResult done = b.getIndexAttr(0);
  SmallVector<std::int64_t> steps = {step};
  for (const std::int64_t next : remainder)
    if (next < steps.back()) steps.push_back(next);
  for (const std::int64_t next : steps) {
    const OpFoldResult until = next == 1 ? to : wholeBlocks(b, loc, done, to, next);
    emitLoop(b, loc, done, until, next, [&](OpFoldResult iv) { body(iv, next); });
    done = until;
  }
}

SmallVector<Value> emitSteps(OpBuilder& b, Location loc, StepRange range, ValueRange values, StepBody body) {
  auto at = [&](OpFoldResult value) { return getValueOrCreateConstantIndexOp(b, loc, value); };
  auto loop = scf::ForOp::create(b, loc, at(range.from), at(range.to), at(b.getIndexAttr(range.by)), values);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, loc, body(loop.getInductionVar(), SmallVector<Value>(loop.getRegionIterArgs())));
  return SmallVector<Value>(loop.getResults());
}

OpFoldResult wholeBlocks(OpBuilder& b, Location loc, OpFoldResult from, OpFoldResult to, std::int64_t size) {
  const AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  return affine::makeComposedFoldedAffineApply(b, loc, d0 + (d1 - d0).floorDiv(size) * size, {from, to});
}

}  // namespace kiln::schedule
