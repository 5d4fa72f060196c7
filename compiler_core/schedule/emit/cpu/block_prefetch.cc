#include "compiler_core/schedule/emit/cpu/block_prefetch.h"

#include "compiler_core/schedule/emit/cpu/block_address.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kiln::schedule {

using namespace mlir;

void prefetchSteps(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at, unsigned dim,
                   ArrayRef<Piece> pieces) {
  constexpr std::int64_t kMinStrideBytes = 1024, kAhead = 16;
  if (!kernel.isRowTimesMatrix() || !kernel.weights.empty()) return;  // panels are read without a gap
  linalg::LinalgOp op = kernel.op;
  for (OpOperand* input : op.getDpsInputOperands()) {
    auto type = dyn_cast<MemRefType>(input->get().getType());
    if (!type || kernel.roles.operands[input->getOperandNumber()] != Lane::kContiguous) continue;
    const auto stride = strideAlong(indexingMap(*input), type, dim);
    if (!stride || *stride * type.getElementTypeBitWidth() / 8 < kMinStrideBytes) continue;
    const LoopPosition ahead = at.with(dim, plus(b, kernel.loc, at.ivs[dim], kAhead));
    for (const Piece& piece : pieces)
      memref::PrefetchOp::create(b, kernel.loc, input->get(),
                                 indices(b, kernel, ahead, *input, {0, piece.offset}), /*isWrite=*/false,
                                 /*localityHint=*/3, /*isDataCache=*/true);
  }
}

std::optional<OpFoldResult> choosePrefetched(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at,
                                             std::int64_t rows, std::int64_t registers) {
  const Roles& roles = kernel.roles;
  if (!kernel.options.prefetchNextBlock || !roles.rows || !roles.lanes) return std::nullopt;
  AffineExpr number = b.getAffineDimExpr(0).floorDiv(rows);
  SmallVector<OpFoldResult> ivs = {at.ivs[*roles.rows]};
  for (const unsigned dim : roles.outer) {
    number = number + b.getAffineDimExpr(static_cast<unsigned>(ivs.size()));
    ivs.push_back(at.ivs[dim]);
  }
  return affine::makeComposedFoldedAffineApply(b, kernel.loc, number % registers * roles.width, ivs);
}

void prefetchNextBlock(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at, OpFoldResult lane) {
  const AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  const Roles& roles = kernel.roles;
  linalg::LinalgOp op = kernel.op;
  const unsigned steps = roles.reductions.front();
  LoopPosition next = at;
  next.ivs[steps] =
      affine::makeComposedFoldedAffineApply(b, kernel.loc, d0 + d1, {at.ivs[steps], kernel.sizes[steps]});
  next.ivs[*roles.lanes] =
      affine::makeComposedFoldedAffineApply(b, kernel.loc, d0 + d1, {at.ivs[*roles.lanes], lane});
  for (OpOperand* input : op.getDpsInputOperands())
    if (roles.operands[input->getOperandNumber()] == Lane::kContiguous)
      memref::PrefetchOp::create(b, kernel.loc, input->get(), indices(b, kernel, next, *input, {}),
                                 /*isWrite=*/false, /*localityHint=*/2, /*isDataCache=*/true);
}

}  // namespace kiln::schedule
