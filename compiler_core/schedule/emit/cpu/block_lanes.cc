#include "compiler_core/schedule/emit/cpu/block_lanes.h"

#include "compiler_core/schedule/emit/cpu/block_loops.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {

using namespace mlir;

SmallVector<Piece> piecesOf(const BlockKernel& kernel, std::int64_t lanes, Value mask) {
  const std::int64_t width = kernel.roles.width;
  SmallVector<Piece> pieces;
  for (std::int64_t offset = 0; offset < lanes; offset += width) {
    const std::int64_t size = std::min(width, lanes - offset);
    pieces.push_back({offset, size, kernel.masks && size > 1 ? width : size, mask});
  }
  return pieces;
}

namespace {

SmallVector<LaneRun> evenRuns(OpBuilder& b, std::int64_t lanes, std::int64_t width, std::int64_t registers) {
  SmallVector<LaneRun> runs;
  const std::int64_t vectors = (lanes + width - 1) / width, blocks = (vectors + registers - 1) / registers;
  std::int64_t from = 0;
  auto add = [&](std::int64_t count, std::int64_t size) {
    if (count == 0 || size == 0) return;
    runs.push_back({b.getIndexAttr(from), b.getIndexAttr(from + count * size), size});
    from += count * size;
  };
  if (blocks == 0) return runs;
  const std::int64_t larger = vectors % blocks, smaller = vectors / blocks * width;
  add(larger, smaller + width);
  add((lanes - from) / smaller, smaller);
  add(1, lanes - from);
  return runs;
}

}  // namespace

SmallVector<LaneRun> laneRuns(OpBuilder& b, const BlockKernel& kernel, OpFoldResult extent,
                              std::int64_t registers) {
  if (!kernel.roles.lanes) return {{b.getIndexAttr(0), extent, 1}};
  const std::int64_t width = kernel.roles.width;
  if (const auto lanes = fixedExtent(extent)) return evenRuns(b, *lanes, width, registers);
  SmallVector<LaneRun> runs;
  OpFoldResult from = b.getIndexAttr(0);
  if (kernel.masks && width > 1 &&
      llvm::none_of(kernel.lanes, [](const auto& operand) { return operand.second == Lane::kStrided; })) {
    const OpFoldResult whole = wholeBlocks(b, kernel.loc, from, extent, registers * width);
    return {{from, whole, registers * width}, {whole, extent, width, /*remainder=*/true, /*masked=*/true}};
  }
  for (const std::int64_t lanes : {registers * width, width, std::int64_t{1}}) {
    if (!runs.empty() && lanes == runs.back().lanes) continue;
    const OpFoldResult to = lanes == 1 ? extent : wholeBlocks(b, kernel.loc, from, extent, lanes);
    runs.push_back({from, to, lanes, !runs.empty()});
    from = to;
  }
  return runs;
}

OpFoldResult numberIn(OpBuilder& b, Location loc, const LaneRun& run, OpFoldResult lane) {
  const AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  return affine::makeComposedFoldedAffineApply(b, loc, (d1 - d0).floorDiv(run.lanes), {run.from, lane});
}

Value maskBefore(OpBuilder& b, const BlockKernel& kernel, OpFoldResult extent, OpFoldResult iv) {
  const OpFoldResult left = affine::makeComposedFoldedAffineApply(
      b, kernel.loc, b.getAffineDimExpr(0) - b.getAffineDimExpr(1), {extent, iv});
  return vector::CreateMaskOp::create(b, kernel.loc, VectorType::get({kernel.roles.width}, b.getI1Type()),
                                      getValueOrCreateConstantIndexOp(b, kernel.loc, left));
}

}  // namespace kiln::schedule
