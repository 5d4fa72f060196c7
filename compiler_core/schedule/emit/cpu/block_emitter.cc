#include "compiler_core/schedule/emit/cpu/block_emitter.h"

#include "compiler_core/schedule/emit/cpu/block_loops.h"
#include "compiler_core/schedule/emit/cpu/non_temporal.h"
#include "compiler_core/schedule/emit/cpu/register_block.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// The lanes of the blocks that `emitRows` writes.
struct LaneBlock {
  std::int64_t lanes;
  Value mask;              // of those that count, where a run tells that
  std::int64_t registers;  // side by side in the widest block of lanes
};

// Blocks over the rows.
void emitRows(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at, const BlockSources& sources,
              const LaneBlock& block) {
  const Roles& roles = kernel.roles;
  SmallVector<Piece> pieces = piecesOf(kernel, block.lanes, block.mask);
  if (!roles.lanes || (block.lanes == 1 && !sources.packed && kernel.weights.empty())) pieces = {{0, 0, 0}};
  if (!roles.rows) return emitRegisterBlock(b, kernel, at, {1, pieces, sources});
  const OpFoldResult extent = kernel.sizes[*roles.rows];
  // Narrower than a whole block: what the registers hold.
  const auto side = static_cast<std::int64_t>(pieces.size());
  const std::int64_t held = std::max<std::int64_t>(1, kernel.options.shape.accumulators / side);
  const std::int64_t given = side == block.registers ? kernel.options.knobs.rows : 0;
  const std::int64_t most = given ? given : held;
  std::int64_t step = most;
  if (const auto rows = fixedExtent(extent); rows && *rows > 0) {
    // Even blocks rather than a small last one.
    const std::int64_t blocks = (*rows + most - 1) / most;
    step = (*rows + blocks - 1) / blocks;
  }
  emitChunks(b, kernel.loc, extent, step, {std::max<std::int64_t>(1, step / 2), 1},
             [&](OpFoldResult iv, std::int64_t size) {
               emitRegisterBlock(b, kernel, at.with(*roles.rows, iv), {size, pieces, sources});
             });
}

// A block of rows has several registers side by side, which share each broadcast row operand; few rows leave
// room for more.
std::int64_t registersBesideRows(const BlockKernel& kernel) {
  const VectorShape& shape = kernel.options.shape;
  const std::int64_t rows =
      kernel.roles.rows ? std::max<std::int64_t>(1, kernel.likely[*kernel.roles.rows]) : 1;
  const std::int64_t given = kernel.options.knobs.vectors;
  return given ? given : std::clamp<std::int64_t>(shape.accumulators / rows, shape.across, 8);
}

void emitLanes(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at) {
  const Roles& roles = kernel.roles;
  const OpFoldResult extent = roles.lanes ? kernel.sizes[*roles.lanes] : OpFoldResult(b.getIndexAttr(1));
  std::int64_t registers =
      roles.rows || kernel.isRowTimesMatrix() ? registersBesideRows(kernel) : kernel.options.knobs.unroll;
  const SmallVector<LaneRun> runs = laneRuns(b, kernel, extent, registers);
  if (!runs.empty()) registers = (runs.front().lanes + roles.width - 1) / roles.width;
  OpOperand* const packable = kernel.weights.empty() ? findPackable(kernel, at) : nullptr;
  const SmallVector<Value> panels =
      packable ? copyToPanels(b, kernel, at, *packable, runs) : SmallVector<Value>(runs.size());
  BlockSources sources;
  sources.invariants = loadInvariants(b, kernel, at);
  for (const auto& [block, copied] : llvm::zip_equal(runs, panels)) {
    const LaneRun& run = block;
    const Value panel = copied;
    emitLoop(b, kernel.loc, run.from, run.to, run.lanes, [&](OpFoldResult iv) {
      const LoopPosition here = roles.lanes ? at.with(*roles.lanes, iv) : at;
      sources.panel = panel;
      sources.packed = panel ? packable : nullptr;
      sources.panelNumber = numberIn(b, kernel.loc, run, iv);
      const Value mask = run.masked ? maskBefore(b, kernel, extent, iv) : Value();
      if (!kernel.weights.empty()) sources.places = findPlaces(b, kernel, run, iv);
      emitRows(b, kernel, here, sources, {run.lanes, mask, registers});
    });
  }
}

// A long single reduction runs in blocks, so that the operands of one block stay in cache for all rows and
// lanes.
void emitReductionBlocks(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at) {
  const Roles& roles = kernel.roles;
  if (roles.reductions.size() != 1 || !roles.rows) return emitLanes(b, kernel, at);
  const OpFoldResult extent = kernel.sizes[roles.reductions[0]];
  const std::int64_t block = kernel.options.knobs.steps;
  if (!mayReach(extent, block + 1)) return emitLanes(b, kernel, at);
  LoopPosition here = at;
  if (!fixedExtent(extent)) {
    emitLoop(b, kernel.loc, b.getIndexAttr(0), extent, block, [&](OpFoldResult iv) {
      const AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
      const AffineMap least = AffineMap::get(2, 0, {b.getAffineConstantExpr(block), d1 - d0}, b.getContext());
      here.reductionFrom[0] = iv;
      here.reductionSize[0] = affine::makeComposedFoldedAffineMin(b, kernel.loc, least, {iv, extent});
      emitLanes(b, kernel, here);
    });
    return;
  }
  const std::int64_t steps = *fixedExtent(extent), blocks = (steps + block - 1) / block,
                     by = (steps + blocks - 1) / blocks, whole = steps / by * by;
  auto run = [&](std::int64_t from, std::int64_t to, std::int64_t size) {
    emitLoop(b, kernel.loc, b.getIndexAttr(from), b.getIndexAttr(to), size, [&](OpFoldResult iv) {
      here.reductionFrom[0] = iv;
      here.reductionSize[0] = b.getIndexAttr(size);
      here.isFirst = from == 0;
      here.isLast = to == steps;
      emitLanes(b, kernel, here);
    });
  };
  // The first and the last block do more than those between them.
  const std::int64_t head = kernel.product.init ? by : 0,
                     tail = kernel.product.epilogue && whole == steps ? whole - by : whole;
  run(0, std::min(head, tail), by);
  run(std::min(head, tail), tail, by);
  run(tail, whole, by);
  if (whole < steps) run(whole, steps, steps - whole);
}

// The outer loops from `depth` on.
void emitOuter(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at, std::size_t depth) {
  if (depth == kernel.roles.outer.size()) return emitReductionBlocks(b, kernel, at);
  const unsigned dim = kernel.roles.outer[depth];
  emitLoop(b, kernel.loc, b.getIndexAttr(0), kernel.sizes[dim], 1,
           [&](OpFoldResult iv) { emitOuter(b, kernel, at.with(dim, iv), depth + 1); });
}

// At the builder's place; the parts stay.
void emitProduct(OpBuilder& b, const FusedProduct& product, const Roles& roles, const BlockOptions& options) {
  const BlockKernel kernel = prepareKernel(b, product, roles, options);
  emitOuter(b, kernel, beginningOf(b, kernel), 0);
  if (kernel.nonTemporal) orderStores(b, product.op);
}

}  // namespace

void emitBlocks(RewriterBase& rewriter, linalg::LinalgOp op, const Roles& roles,
                const BlockOptions& options) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  emitProduct(rewriter, {op, {}, {}, {}}, roles, options);
  rewriter.eraseOp(op);
}

void emitBlocks(RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options) {
  const auto roles = *findRoles(product.op, options.shape);
  const bool alike = llvm::all_of(product.parts(), [&](linalg::LinalgOp part) {
    const auto own = findRoles(part, options.shape);
    return own && own->lanes == roles.lanes && own->width == roles.width;
  });
  if (!alike) {
    for (linalg::LinalgOp part : {product.init, product.op, product.epilogue})
      if (part) emitBlocks(rewriter, part, *findRoles(part, options.shape), options);
    return;
  }
  emitProduct(rewriter, product, roles, options);
  for (linalg::LinalgOp part : llvm::reverse(product.parts())) rewriter.eraseOp(part);
}

}  // namespace kiln::schedule
