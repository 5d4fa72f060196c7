#include "compiler_core/schedule/analysis/row_loop.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/groups.h"
#include "compiler_core/schedule/analysis/kernel_info.h"
#include "compiler_core/schedule/analysis/partial_sums.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// The operation that makes the tile, if it goes over rows that others of the tile sum up.
linalg::LinalgOp rowsOf(scf::ForallOp loop) {
  auto terminator = cast<scf::InParallelOp>(loop.getBody()->getTerminator());
  if (!llvm::hasSingleElement(terminator.getYieldingOps())) return {};
  auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(*terminator.getYieldingOps().begin());
  auto last = insert ? insert.getSource().getDefiningOp<linalg::LinalgOp>() : linalg::LinalgOp();
  if (!last || !last->hasOneUse() || !isPointwise(last) || last.hasDynamicShape()) return {};
  bool sums = false;
  for (linalg::LinalgOp op : loop.getBody()->getOps<linalg::LinalgOp>()) {
    if (isContraction(op) || op.hasDynamicShape()) return {};
    sums |= ir::PartialsAttr::isOn(op);
  }
  return sums ? last : linalg::LinalgOp();
}

}  // namespace

LogicalResult loopOverRows(scf::ForallOp loop, RewriterBase& rewriter) {
  auto info = ir::KernelAttr::get(loop);
  linalg::LinalgOp last = info ? rowsOf(loop) : linalg::LinalgOp();
  if (!last) return success();
  // Loops that tasks share out are those that every operation follows.
  const SmallVector<std::int64_t> extents = last.getStaticLoopRanges();
  const auto whole = ir::kernel::kLoops.in(info);
  if (!whole || whole.size() != static_cast<std::int64_t>(extents.size())) return success();
  SmallVector<OpFoldResult> sizes(extents.size(), rewriter.getIndexAttr(0));
  bool any = false;
  for (std::size_t i = 0; i + 1 < extents.size(); ++i) {
    if (extents[i] == 1 || extents[i] == whole[static_cast<std::int64_t>(i)]) continue;
    sizes[i] = rewriter.getIndexAttr(1);
    any = true;
  }
  if (!any) return success();
  scf::SCFTileAndFuseOptions fusion;
  fusion.tilingOptions.setTileSizes(sizes);
  fusion.setFusionControlFn([&](tensor::ExtractSliceOp, OpResult producer,
                                bool) -> std::optional<scf::SCFTileAndFuseOptions::ControlFnResult> {
    if (producer.getOwner()->getBlock() != loop.getBody()) return std::nullopt;
    return scf::SCFTileAndFuseOptions::ControlFnResult{};
  });
  rewriter.setInsertionPoint(last);
  auto rows =
      scf::tileConsumerAndFuseProducersUsingSCF(rewriter, cast<TilingInterface>(last.getOperation()), fusion);
  if (failed(rows)) return last.emitError("the rows of the tile do not come apart");
  rewriter.replaceAllUsesWith(last->getResult(0), rows->replacements.lookup(last->getResult(0)));
  rewriter.eraseOp(last);
  // What lies between the operations is as large as a row.
  loop.walk([&](tensor::ExtractSliceOp slice) {
    if (!slice.getSource().getDefiningOp<tensor::EmptyOp>() || !slice.getType().hasStaticShape()) return;
    rewriter.setInsertionPoint(slice);
    rewriter.replaceOpWithNewOp<tensor::EmptyOp>(slice, slice.getType().getShape(),
                                                 slice.getType().getElementType());
  });
  return success();
}

}  // namespace kiln::schedule
