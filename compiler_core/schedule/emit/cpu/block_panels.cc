#include "compiler_core/schedule/emit/cpu/block_panels.h"

#include "compiler_core/schedule/emit/cpu/block_access.h"
#include "compiler_core/schedule/emit/cpu/block_loops.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kiln::schedule {

using namespace mlir;

OpOperand* findPackable(const BlockKernel& kernel, const LoopPosition& at) {
  constexpr std::int64_t kMinRows = 24, kMinSteps = 32, kMinStrideBytes = 1024;
  const Roles& roles = kernel.roles;
  linalg::LinalgOp op = kernel.op;
  const std::int64_t given = kernel.options.pack ? kernel.options.knobs.pack : kNeverPack,
                     pack = given == kPackedWeight ? kPackWhereItPays : given;
  if (roles.reductions.size() != 1 || !roles.rows || pack == kNeverPack) return nullptr;
  if (pack == kPackWhereItPays &&
      (kernel.likely[*roles.rows] < kMinRows || !mayReach(at.reductionSize[0], kMinSteps)))
    return nullptr;
  for (OpOperand* input : op.getDpsInputOperands()) {
    auto type = dyn_cast<MemRefType>(input->get().getType());
    AffineMap map = op.getMatchingIndexingMap(input);
    if (!type || roles.operands[input->getOperandNumber()] != Lane::kContiguous ||
        map.isFunctionOfDim(*roles.rows) || !map.isFunctionOfDim(roles.reductions[0]))
      continue;
    const auto stride = strideAlong(map, type, roles.reductions[0]);
    if (stride && (pack == kAlwaysPack || *stride * type.getElementTypeBitWidth() / 8 >= kMinStrideBytes))
      return input;
  }
  return nullptr;
}

namespace {

// Panels for the blocks of a run, in scratch.
Value allocatePanels(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at, Type element,
                     const LaneRun& run) {
  SmallVector<std::int64_t> shape;
  SmallVector<Value> extents;
  for (const OpFoldResult size :
       {numberIn(b, kernel.loc, run, run.to), at.reductionSize[0], OpFoldResult(b.getIndexAttr(run.lanes))}) {
    shape.push_back(fixedExtent(size).value_or(ShapedType::kDynamic));
    if (!fixedExtent(size)) extents.push_back(cast<Value>(size));
  }
  return memref::AllocOp::create(b, kernel.loc, MemRefType::get(shape, element), extents,
                                 b.getI64IntegerAttr(64));
}

}  // namespace

SmallVector<Value> copyToPanels(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at,
                                OpOperand& packed, ArrayRef<LaneRun> runs) {
  const Location loc = kernel.loc;
  const Type element = getElementTypeOrSelf(packed.get().getType());
  SmallVector<Value> panels;
  for (const LaneRun& run : runs)
    panels.push_back(run.remainder ? Value() : allocatePanels(b, kernel, at, element, run));
  emitLoop(b, loc, b.getIndexAttr(0), at.reductionSize[0], 1, [&](OpFoldResult step) {
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    LoopPosition there =
        at.with(kernel.roles.reductions[0],
                affine::makeComposedFoldedAffineApply(b, loc, d0 + d1, {at.reductionFrom[0], step}));
    for (const auto& [run, panel] : llvm::zip_equal(runs, panels)) {
      if (!panel) continue;
      emitLoop(b, loc, run.from, run.to, run.lanes, [&](OpFoldResult lane) {
        there.ivs[*kernel.roles.lanes] = lane;
        for (const Piece& piece : piecesOf(kernel, run.lanes, /*mask=*/{}))
          storeVector(
              b, kernel,
              loadVector(b, loc, packed.get(), indices(b, kernel, there, packed, {0, piece.offset}), piece),
              panel, panelIndex(b, loc, numberIn(b, loc, run, lane), step, piece.offset), piece);
      });
    }
  });
  return panels;
}

SmallVector<Value> panelIndex(OpBuilder& b, Location loc, OpFoldResult number, OpFoldResult step,
                              std::int64_t lane) {
  return {getValueOrCreateConstantIndexOp(b, loc, number), getValueOrCreateConstantIndexOp(b, loc, step),
          arith::ConstantIndexOp::create(b, loc, lane)};
}

PanelPlaces findPlaces(OpBuilder& b, const BlockKernel& kernel, const LaneRun& run, OpFoldResult lane) {
  const Location loc = kernel.loc;
  const WeightPanels& weight = kernel.weights.front();
  const std::int64_t wide = weight.lanes;
  auto number = [&](std::int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
  auto add = [&](Value value, std::int64_t offset) -> Value {
    return offset == 0 ? value : arith::AddIOp::create(b, loc, value, number(offset)).getResult();
  };
  Value first = arith::AddIOp::create(b, loc, getValueOrCreateConstantIndexOp(b, loc, weight.first),
                                      getValueOrCreateConstantIndexOp(b, loc, lane));
  // Blocks that begin or end panels have their registers where the first one is.
  const bool isRegular = weight.isAligned && *fixedExtent(run.from) % wide == 0 &&
                         (run.lanes % wide == 0 || wide % run.lanes == 0);
  PanelPlaces places;
  for (const Piece& piece : piecesOf(kernel, run.lanes, /*mask=*/{})) {
    const std::int64_t panels = isRegular ? piece.offset / wide : 0;
    Value from = add(first, isRegular ? 0 : piece.offset);
    Value inside = isRegular && run.lanes % wide == 0
                       ? number(0)
                       : arith::RemUIOp::create(b, loc, from, number(wide)).getResult();
    places[piece.offset] = {add(arith::DivUIOp::create(b, loc, from, number(wide)), panels),
                            add(inside, isRegular ? piece.offset % wide : 0)};
  }
  return places;
}

}  // namespace kiln::schedule
