#include "compiler_core/schedule/emit/cpu/block_load.h"

#include "compiler_core/schedule/analysis/body.h"
#include "compiler_core/schedule/emit/cpu/block_access.h"
#include "compiler_core/schedule/emit/cpu/transposed.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {

using namespace mlir;

Invariants loadInvariants(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at) {
  Invariants invariants;
  const Roles& roles = kernel.roles;
  if (!roles.reductions.empty() || !roles.lanes) return invariants;
  linalg::LinalgOp op = kernel.op;
  const LoopPosition first = at.with(*roles.lanes, b.getIndexAttr(0));
  for (OpOperand* input : op.getDpsInputOperands()) {
    const bool isWritten = llvm::is_contained(op.getDpsInits(), input->get());
    if (isWritten || kernel.lanes.at(input) != Lane::kUniform || !isa<MemRefType>(input->get().getType()))
      continue;
    invariants[input] =
        memref::LoadOp::create(b, kernel.loc, input->get(), indices(b, kernel, first, *input, {}));
  }
  return invariants;
}

SmallVector<OpOperand*> findTransposable(const BlockKernel& kernel, const LoopPosition& at, std::size_t depth,
                                         ArrayRef<Piece> pieces) {
  const Roles& roles = kernel.roles;
  linalg::LinalgOp op = kernel.op;
  SmallVector<OpOperand*> found;
  if (depth + 1 != roles.reductions.size() || !mayReach(at.reductionSize[depth], roles.width) ||
      !llvm::isPowerOf2_64(static_cast<std::uint64_t>(roles.width)) || roles.width < 4 ||
      llvm::any_of(pieces, [&](const Piece& piece) { return piece.lanes != roles.width; }))
    return found;
  for (OpOperand* input : op.getDpsInputOperands())
    if (roles.operands[input->getOperandNumber()] == Lane::kStrided &&
        strideAlong(op.getMatchingIndexingMap(input), input->get().getType(), roles.reductions[depth]) == 1)
      found.push_back(input);
  return found;
}

TransposedSquares loadTransposed(OpBuilder& b, const BlockKernel& kernel, const LoopPosition& at,
                                 ArrayRef<OpOperand*> operands, std::int64_t rows, ArrayRef<Piece> pieces) {
  const Roles& roles = kernel.roles;
  linalg::LinalgOp op = kernel.op;
  TransposedSquares squares;
  for (OpOperand* operand : operands) {
    const bool byRow = roles.rows && op.getMatchingIndexingMap(operand).isFunctionOfDim(*roles.rows);
    const auto type = VectorType::get({roles.width}, getElementTypeOrSelf(operand->get().getType()));
    for (std::int64_t row = 0; row < (byRow ? rows : 1); ++row)
      for (const Piece& piece : pieces) {
        SmallVector<Value> lanes;
        for (std::int64_t lane = 0; lane < roles.width; ++lane)
          lanes.push_back(
              vector::LoadOp::create(b, kernel.loc, type, operand->get(),
                                     indices(b, kernel, at, *operand, {row, piece.offset + lane})));
        squares[{operand->getOperandNumber(), {row, piece.offset}}] =
            transposed(b, kernel.loc, std::move(lanes));
      }
  }
  return squares;
}

Value loadOperand(OpBuilder& b, const BlockKernel& kernel, const BlockPlace& place, OpOperand& operand,
                  std::int64_t row, const Piece& piece) {
  const auto& [at, sources, squares, squareStep] = place;
  const Location loc = kernel.loc;
  Value source = operand.get();
  if (!isa<MemRefType>(source.getType())) return splat(b, loc, source, piece.width);
  if (const auto found = sources.invariants.find(&operand); found != sources.invariants.end())
    return splat(b, loc, found->second, piece.width);
  const LoopPosition& here = at;
  auto scalar = [&](std::int64_t lane) -> Value {
    return memref::LoadOp::create(b, loc, source, indices(b, kernel, here, operand, {row, lane}));
  };
  const Lane lane = kernel.lanes.at(&operand);
  if (piece.lanes == 0 || lane == Lane::kUniform) return splat(b, loc, scalar(piece.offset), piece.width);
  if (const WeightPanels* weight = kernel.panelsOf(operand)) {
    const auto [number, first] = sources.places.at(piece.offset);
    AffineExpr row = b.getAffineConstantExpr(0);
    SmallVector<OpFoldResult> steps;
    for (auto [i, loop] : llvm::enumerate(kernel.roles.reductions)) {
      row = row + b.getAffineDimExpr(static_cast<unsigned>(i)) * weight->rowSteps[i];
      steps.push_back(at.ivs[loop]);
    }
    Value step =
        getValueOrCreateConstantIndexOp(b, loc, affine::makeComposedFoldedAffineApply(b, loc, row, steps));
    return loadVector(b, loc, weight->panels, {number, step, first}, piece);
  }
  if (&operand == sources.packed) {
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    const OpFoldResult step = affine::makeComposedFoldedAffineApply(
        b, loc, d0 - d1, {at.ivs[kernel.roles.reductions[0]], at.reductionFrom[0]});
    return loadVector(b, loc, sources.panel, panelIndex(b, loc, sources.panelNumber, step, piece.offset),
                      piece);
  }
  if (lane == Lane::kContiguous)
    return loadVector(b, loc, source, indices(b, kernel, at, operand, {row, piece.offset}), piece);
  if (squares && operand.getOwner() == kernel.op)
    if (const auto square = squares->find({operand.getOperandNumber(), {row, piece.offset}});
        square != squares->end())
      return square->second[static_cast<std::size_t>(squareStep)];
  if (piece.lanes > 1 && kernel.flat.contains(&operand)) {
    const FlatView& flat = kernel.flat.at(&operand);
    const OpFoldResult from = flatIndex(b, kernel, at, flat.map, {row, piece.offset});
    return loadEverySecond(b, loc, flat.view, from, piece);
  }
  SmallVector<Value> values;
  for (std::int64_t i = 0; i < piece.lanes; ++i) values.push_back(scalar(piece.offset + i));
  values.resize(piece.width, values.front());
  const auto type = VectorType::get({piece.width}, getElementTypeOrSelf(source.getType()));
  return vector::FromElementsOp::create(b, loc, type, values);
}

Value OperandLoads::get(OpOperand& operand, std::int64_t row, std::size_t piece) {
  const Roles& roles = kernel_.roles;
  const AffineMap map = indexingMap(operand);
  const unsigned number = operand.getOperandNumber();
  const bool byRow = roles.rows && map.isFunctionOfDim(*roles.rows);
  const bool byLane = kernel_.lanes.at(&operand) != Lane::kUniform;
  // A uniform operand is broadcast once per width.
  const std::int64_t which = byLane ? std::int64_t(piece) : -1 - pieces_[piece].width;
  Value& value = values_[{number, {byRow ? row : 0, which}}];
  Piece here = pieces_[piece];
  if (!byLane) here.offset = 0;
  if (!value) value = loadOperand(builder_, kernel_, place_, operand, byRow ? row : 0, here);
  return value;
}

}  // namespace kiln::schedule
