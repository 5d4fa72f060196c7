#include "compiler_core/schedule/strategies/gpu_reduction/shared_reduction.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/body.h"
#include "compiler_core/schedule/analysis/partial_sums.h"
#include "compiler_core/schedule/analysis/roles.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// The operation that takes a step's value into the result; null unless its operands may come in any order,
// with the same bits, or the order is that of partial sums.
Operation* combinerOf(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || op.hasIndexSemantics()) return nullptr;
  Block* body = op.getBlock();
  BlockArgument before = body->getArguments().back();
  Operation* combiner = body->getTerminator()->getOperand(0).getDefiningOp();
  const bool isSum = ir::PartialsAttr::isOn(op) && isa_and_nonnull<arith::AddFOp>(combiner);
  if ((!isSum && !isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp, arith::MaxSIOp, arith::MinSIOp,
                                  arith::MaxUIOp, arith::MinUIOp, arith::AddIOp, arith::MulIOp, arith::AndIOp,
                                  arith::OrIOp, arith::XOrIOp>(combiner)) ||
      combiner->getBlock() != body || !before.hasOneUse() || *before.user_begin() != combiner)
    return nullptr;
  return combiner;
}

}  // namespace

bool emitSharedReduction(RewriterBase& b, linalg::LinalgOp op, const BlockThread& thread,
                         const GpuOptions& options) {
  constexpr std::int64_t kSteps = 8;  // of a thread, at least
  Operation* combiner = combinerOf(op);
  if (!combiner) return false;
  const auto neutral = arith::getNeutralElement(combiner);
  SmallVector<unsigned> parallel, reductions;
  op.getParallelDims(parallel);
  op.getReductionDims(reductions);
  const SmallVector<std::int64_t> extents = op.getStaticLoopRanges();
  std::int64_t points = 1, steps = 1;
  for (unsigned dim : parallel)
    if (ShapedType::isDynamic(extents[dim]) || __builtin_mul_overflow(points, extents[dim], &points))
      return false;
  for (unsigned dim : reductions)
    if (ShapedType::isDynamic(extents[dim]) || __builtin_mul_overflow(steps, extents[dim], &steps))
      return false;
  if (!neutral || reductions.empty() || points == 0 || points * steps > (std::int64_t{1} << 30)) return false;
  std::int64_t parts = 1;  // of one result
  while (parts * 2 * points <= thread.count && parts * 2 * kSteps <= steps) parts *= 2;
  const bool isSum = ir::PartialsAttr::isOn(op);
  if (isSum) {
    // A thread has one partial of a result; they are distributed along all of the steps.
    if (parts < kPartials || (reductions.size() > 1 && extents[reductions.back()] % kPartials)) return false;
    parts = kPartials;
  }
  if (parts == 1) return false;
  const bool fuse = isSum && options.contraction && findRoles(op, {});

  const Location loc = op.getLoc();
  auto index = [&](std::int64_t value) { return arith::ConstantIndexOp::create(b, loc, value).getResult(); };
  // Position `at` of a row-major space over `dims`.
  SmallVector<OpFoldResult> ivs(op.getNumLoops());
  auto place = [&](Value at, ArrayRef<unsigned> dims) {
    for (std::size_t i = dims.size(); i-- > 0;) {
      ivs[dims[i]] = i == 0 ? at : arith::RemUIOp::create(b, loc, at, index(extents[dims[i]])).getResult();
      if (i > 0) at = arith::DivUIOp::create(b, loc, at, index(extents[dims[i]]));
    }
  };
  auto indices = [&](OpOperand& operand) {
    const AffineMap map = op.getMatchingIndexingMap(&operand);
    SmallVector<Value> result;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      result.push_back(getValueOrCreateConstantIndexOp(
          b, loc, affine::makeComposedFoldedAffineApply(b, loc, map.getSubMap({i}), ivs)));
    return result;
  };
  auto combine = [&](Value x, Value y) {
    Operation* copy = combiner->clone();
    copy->setOperands({x, y});
    b.insert(copy);
    return copy->getResult(0);
  };

  OpOperand& init = *op.getDpsInitOperand(0);
  auto type = MemRefType::get({points, parts}, getElementTypeOrSelf(init.get().getType()));
  Value buffer = memref::AllocOp::create(b, loc, type, b.getI64IntegerAttr(64));
  distributeOverThreads(b, loc, b.getIndexAttr(points * parts), thread, {}, [&](Value at) {
    at = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), at);
    Value point = arith::DivUIOp::create(b, loc, at, index(parts)),
          part = arith::RemUIOp::create(b, loc, at, index(parts));
    place(point, parallel);
    Value start = arith::ConstantOp::create(b, loc, *neutral);
    auto loop = scf::ForOp::create(b, loc, part, index(steps), index(parts), start);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      place(loop.getInductionVar(), reductions);
      SmallVector<Value> arguments;
      for (OpOperand* input : op.getDpsInputOperands()) {
        if (!op.payloadUsesValueFromOperand(input))
          arguments.push_back({});
        else if (isa<MemRefType>(input->get().getType()))
          arguments.push_back(memref::LoadOp::create(b, loc, input->get(), indices(*input)));
        else
          arguments.push_back(input->get());
      }
      arguments.push_back(loop.getRegionIterArg(0));
      scf::YieldOp::create(b, loc, emitBody(b, op, arguments, 0, fuse));
    }
    memref::StoreOp::create(b, loc, loop.getResult(0), buffer, ValueRange{point, part});
  });
  // The parts of a result in pairs, until one is left.
  auto element = [&](Value point, Value part) { return SmallVector<Value>{point, part}; };
  for (std::int64_t half = parts / 2; half > 0; half /= 2) {
    gpu::BarrierOp::create(b, loc);
    distributeOverThreads(b, loc, b.getIndexAttr(points * half), thread, {}, [&](Value at) {
      at = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), at);
      Value point = arith::DivUIOp::create(b, loc, at, index(half)),
            part = arith::RemUIOp::create(b, loc, at, index(half));
      Value other = arith::AddIOp::create(b, loc, part, index(half));
      Value x = memref::LoadOp::create(b, loc, buffer, element(point, part)),
            y = memref::LoadOp::create(b, loc, buffer, element(point, other));
      memref::StoreOp::create(b, loc, combine(x, y), buffer, element(point, part));
    });
  }
  gpu::BarrierOp::create(b, loc);
  distributeOverThreads(b, loc, b.getIndexAttr(points), thread, {}, [&](Value at) {
    at = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), at);
    place(at, parallel);
    Value start;
    if (auto number = ir::InitialAttr::get(op))
      start = arith::ConstantOp::create(b, loc, number);
    else
      start = memref::LoadOp::create(b, loc, init.get(), indices(init));
    Value own = memref::LoadOp::create(b, loc, buffer, element(at, index(0)));
    memref::StoreOp::create(b, loc, combine(start, own), init.get(), indices(init));
  });
  return true;
}

}  // namespace kiln::schedule
