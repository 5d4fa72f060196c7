#include "compiler_core/codegen/lower/task_grid.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

namespace kiln::codegen {

using namespace mlir;

SmallVector<OpFoldResult> countsOf(OpBuilder& b, scf::ForallOp loop, ArrayRef<OpFoldResult> from,
                                   ArrayRef<OpFoldResult> to) {
  const AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  SmallVector<OpFoldResult> counts;
  for (auto [low, high, step] : llvm::zip_equal(from, to, *getConstantIntValues(loop.getMixedStep())))
    counts.push_back(
        affine::makeComposedFoldedAffineApply(b, loop.getLoc(), (d1 - d0).ceilDiv(step), {low, high}));
  return counts;
}

OpFoldResult tasksOf(OpBuilder& b, scf::ForallOp loop) {
  const AffineExpr d0 = b.getAffineDimExpr(0), s0 = b.getAffineSymbolExpr(0);
  OpFoldResult tasks = b.getIndexAttr(1);
  for (const OpFoldResult count : countsOf(b, loop, loop.getMixedLowerBound(), loop.getMixedUpperBound()))
    tasks = affine::makeComposedFoldedAffineApply(b, loop.getLoc(), d0 * s0, {tasks, count});
  return tasks;
}

SmallVector<Value> indicesOf(OpBuilder& b, Location loc, Value task, ArrayRef<OpFoldResult> counts,
                             ArrayRef<OpFoldResult> from, ArrayRef<std::int64_t> steps) {
  auto value = [&](OpFoldResult number) { return getValueOrCreateConstantIndexOp(b, loc, number); };
  SmallVector<Value> result(counts.size());
  for (std::size_t i = counts.size(); i-- > 0;) {
    Value digit = i == 0 ? task : arith::RemUIOp::create(b, loc, task, value(counts[i])).getResult();
    if (i > 0) task = arith::DivUIOp::create(b, loc, task, value(counts[i]));
    result[i] = arith::AddIOp::create(
        b, loc, arith::MulIOp::create(b, loc, digit, value(b.getIndexAttr(steps[i]))), value(from[i]));
  }
  return result;
}

}  // namespace kiln::codegen
