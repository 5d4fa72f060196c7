#include "compiler_core/schedule/emit/cpu/register_block.h"

#include "compiler_core/schedule/analysis/body.h"
#include "compiler_core/schedule/emit/cpu/block_access.h"
#include "compiler_core/schedule/emit/cpu/block_loops.h"
#include "compiler_core/schedule/emit/cpu/block_prefetch.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// All results of the block once, from the accumulators given; returns the new ones.
SmallVector<Value> step(OpBuilder& b, const BlockKernel& kernel, const RegisterBlock& block,
                        const BlockPlace& place, ValueRange accumulators) {
  OperandLoads loads(b, kernel, place, block.pieces);
  SmallVector<Value> results;
  linalg::LinalgOp op = kernel.op;
  const unsigned inits = op.getNumDpsInits();
  for (std::int64_t row = 0; row < block.rows; ++row)
    for (std::size_t piece = 0; piece < block.pieces.size(); ++piece) {
      SmallVector<Value> arguments;
      for (OpOperand* input : op.getDpsInputOperands()) arguments.push_back(loads.get(*input, row, piece));
      for (unsigned i = 0; i < inits; ++i)
        arguments.push_back(accumulators.empty() ? Value() : accumulators[results.size() + i]);
      const bool fuse = kernel.options.contraction && !kernel.roles.reductions.empty();
      llvm::append_range(results, emitBody(b, op, arguments, block.pieces[piece].width, fuse));
    }
  return results;
}

// The steps of the reduction loops from `depth` on.
SmallVector<Value> reduce(OpBuilder& b, const BlockKernel& kernel, const RegisterBlock& block,
                          const LoopPosition& at, std::size_t depth, SmallVector<Value> values) {
  const Roles& roles = kernel.roles;
  if (depth == roles.reductions.size()) return step(b, kernel, block, {at, block.sources}, values);
  const unsigned dim = roles.reductions[depth];
  if (fixedExtent(at.reductionSize[depth]) == 1)
    return reduce(b, kernel, block, at.with(dim, at.reductionFrom[depth]), depth + 1, std::move(values));
  const AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  OpFoldResult from = at.reductionFrom[depth];
  const OpFoldResult to =
      affine::makeComposedFoldedAffineApply(b, kernel.loc, d0 + d1, {from, at.reductionSize[depth]});
  const SmallVector<OpOperand*> transposable = findTransposable(kernel, at, depth, block.pieces);
  if (!transposable.empty()) {
    const OpFoldResult until = wholeBlocks(b, kernel.loc, from, to, roles.width);
    values =
        emitSteps(b, kernel.loc, {from, until, roles.width}, values, [&](Value iv, SmallVector<Value> inner) {
          const TransposedSquares squares =
              loadTransposed(b, kernel, at.with(dim, iv), transposable, block.rows, block.pieces);
          for (std::int64_t i = 0; i < roles.width; ++i) {
            const LoopPosition here = at.with(dim, plus(b, kernel.loc, iv, i));
            inner = step(b, kernel, block, {here, block.sources, &squares, i}, inner);
          }
          return inner;
        });
    from = until;
    if (fixedExtent(from) && fixedExtent(from) == fixedExtent(to)) return values;
  }
  return emitSteps(b, kernel.loc, {from, to, 1}, values, [&](Value iv, SmallVector<Value> inner) {
    const LoopPosition here = at.with(dim, iv);
    if (depth + 1 == roles.reductions.size()) {
      prefetchSteps(b, kernel, here, dim, block.pieces);
      if (block.prefetchedLane) prefetchNextBlock(b, kernel, here, *block.prefetchedLane);
    }
    return reduce(b, kernel, block, here, depth + 1, std::move(inner));
  });
}

// An elementwise part, for each result of the block: from `results` where it reads those.
SmallVector<Value> elementwise(OpBuilder& b, const BlockKernel& kernel, const RegisterBlock& block,
                               const LoopPosition& at, linalg::LinalgOp part, ValueRange results) {
  const BlockPlace place{at, block.sources};
  OperandLoads loads(b, kernel, place, block.pieces);
  SmallVector<Value> made;
  for (std::int64_t row = 0; row < block.rows; ++row)
    for (std::size_t piece = 0; piece < block.pieces.size(); ++piece) {
      SmallVector<Value> arguments;
      for (OpOperand& operand : part->getOpOperands())
        if (!results.empty() && llvm::is_contained(kernel.product.results, operand.getOperandNumber()))
          arguments.push_back(results[made.size()]);
        else if (part.isDpsInput(&operand) || part.payloadUsesValueFromOperand(&operand))
          arguments.push_back(loads.get(operand, row, piece));
        else
          arguments.emplace_back();
      llvm::append_range(made, emitBody(b, part, arguments, block.pieces[piece].width, /*fuse=*/false));
    }
  return made;
}

// What the sums begin with: nothing where the body does not read that.
SmallVector<Value> begin(OpBuilder& b, const BlockKernel& kernel, const RegisterBlock& block,
                         const LoopPosition& at) {
  linalg::LinalgOp op = kernel.op;
  if (kernel.product.init && at.isFirst) return elementwise(b, kernel, block, at, kernel.product.init, {});
  SmallVector<Value> values;
  if (llvm::none_of(op.getDpsInitsMutable(),
                    [&](OpOperand& init) { return op.payloadUsesValueFromOperand(&init); }))
    return values;
  for (std::int64_t row = 0; row < block.rows; ++row)
    for (const Piece& piece : block.pieces)
      for (OpOperand& init : op.getDpsInitsMutable())
        values.push_back(loadOperand(b, kernel, {at, block.sources}, init, row, piece));
  return values;
}

void store(OpBuilder& b, const BlockKernel& kernel, const RegisterBlock& block, const LoopPosition& at,
           linalg::LinalgOp writer, ArrayRef<Value> values) {
  const auto* next = values.begin();
  for (std::int64_t row = 0; row < block.rows; ++row)
    for (const Piece& piece : block.pieces)
      for (OpOperand& init : writer.getDpsInitsMutable()) {
        SmallVector<Value> place = indices(b, kernel, at, init, {row, piece.offset});
        if (piece.lanes == 0)
          memref::StoreOp::create(b, kernel.loc, *next++, init.get(), place);
        else
          storeVector(b, kernel, *next++, init.get(), place, piece);
      }
}

}  // namespace

void emitRegisterBlock(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at, RegisterBlock block) {
  SmallVector<Value> values = begin(b, kernel, block, at);
  block.prefetchedLane =
      choosePrefetched(b, kernel, at, block.rows, static_cast<std::int64_t>(block.pieces.size()));
  values = reduce(b, kernel, block, at, 0, std::move(values));
  linalg::LinalgOp writer = kernel.op;
  if (kernel.product.epilogue && at.isLast) {
    writer = kernel.product.epilogue;
    values = elementwise(b, kernel, block, at, writer, values);
  }
  store(b, kernel, block, at, writer, values);
}

}  // namespace kiln::schedule
