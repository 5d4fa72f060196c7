#include "compiler_core/schedule/analysis/roles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

bool isNumber(Type type) {
  return type.isIntOrFloat();
}

bool bodyIsPointwise(linalg::LinalgOp op) {
  for (Operation& inner : op.getBlock()->without_terminator()) {
    if (isa<arith::ConstantOp>(inner)) continue;
    if (!OpTrait::hasElementwiseMappableTraits(&inner)) return false;
    if (!llvm::all_of(inner.getOperandTypes(), isNumber) || !llvm::all_of(inner.getResultTypes(), isNumber))
      return false;
  }
  return true;
}

bool stridedBuffer(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref) return isNumber(type);
  SmallVector<std::int64_t> strides;
  std::int64_t offset;
  return isNumber(memref.getElementType()) && succeeded(memref.getStridesAndOffset(strides, offset));
}

}  // namespace

std::optional<std::int64_t> strideAlong(AffineMap map, Type type, unsigned dim) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref) return 0;
  SmallVector<std::int64_t> strides;
  std::int64_t offset;
  (void)memref.getStridesAndOffset(strides, offset);
  std::int64_t result = 0;
  for (auto [expression, stride] : llvm::zip_equal(map.getResults(), strides)) {
    if (!expression.isFunctionOfDim(dim)) continue;
    AffineExpr here = getAffineDimExpr(dim, map.getContext());
    auto step = dyn_cast<AffineConstantExpr>(
        simplifyAffineExpr(expression.replace(here, here + 1) - expression, map.getNumDims(), 0));
    if (!step || ShapedType::isDynamic(stride)) return std::nullopt;
    result += step.getValue() * stride;
  }
  return result;
}

OpFoldResult loopExtent(OpBuilder& b, linalg::LinalgOp op, unsigned loop) {
  const std::int64_t fixed = op.getStaticLoopRanges()[loop];
  if (!ShapedType::isDynamic(fixed)) return b.getIndexAttr(fixed);
  for (OpOperand& operand : op->getOpOperands())
    for (auto [i, expression] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expression); dim && dim.getPosition() == loop)
        return b.createOrFold<memref::DimOp>(op.getLoc(), operand.get(), static_cast<std::int64_t>(i));
  llvm_unreachable("a loop of linalg runs along a dimension of an operand");
}

namespace {

std::optional<unsigned> laneLoop(linalg::LinalgOp op) {
  OpOperand* out = op.getDpsInitOperand(0);
  AffineMap map = op.getMatchingIndexingMap(out);
  if (map.getNumResults() == 0) return std::nullopt;
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  if (!last || strideAlong(map, out->get().getType(), last.getPosition()) != 1) return std::nullopt;
  return last.getPosition();
}

// Rows share a vector operand: the loop must leave at least one of the vectors where it is.
std::optional<unsigned> rowLoop(linalg::LinalgOp op, const Roles& roles, ArrayRef<unsigned> parallel) {
  if (roles.reductions.empty()) return std::nullopt;
  std::optional<unsigned> fallback;
  for (unsigned dim : llvm::reverse(parallel)) {
    if (roles.lanes == dim) continue;
    if (!fallback) fallback = dim;
    for (OpOperand* input : op.getDpsInputOperands())
      if (roles.operands[input->getOperandNumber()] != Lane::kUniform &&
          !op.getMatchingIndexingMap(input).isFunctionOfDim(dim))
        return dim;
  }
  return fallback;
}

}  // namespace

std::optional<Roles> findRoles(linalg::LinalgOp op, const VectorShape& shape) {
  if (!op.hasPureBufferSemantics() || !bodyIsPointwise(op)) return std::nullopt;
  if (!llvm::all_of(op->getOperandTypes(), stridedBuffer)) return std::nullopt;
  SmallVector<unsigned> parallel;
  op.getParallelDims(parallel);
  Roles roles;
  op.getReductionDims(roles.reductions);
  if (parallel.size() + roles.reductions.size() != op.getNumLoops()) return std::nullopt;
  for (OpOperand& out : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&out);
    if (!map.isProjectedPermutation() || map.getNumResults() != parallel.size()) return std::nullopt;
    if (map != op.getMatchingIndexingMap(op.getDpsInitOperand(0))) return std::nullopt;
  }
  roles.lanes = laneLoop(op);
  std::int64_t elementBits = 32;
  for (OpOperand& operand : op->getOpOperands()) {
    elementBits = std::max<std::int64_t>(
        elementBits, getElementTypeOrSelf(operand.get().getType()).getIntOrFloatBitWidth());
    Lane lane = Lane::kUniform;
    if (roles.lanes) {
      auto step = strideAlong(op.getMatchingIndexingMap(&operand), operand.get().getType(), *roles.lanes);
      lane = !step || (*step != 0 && *step != 1) ? Lane::kStrided
             : *step == 1                        ? Lane::kContiguous
                                                 : Lane::kUniform;
    }
    roles.operands.push_back(lane);
  }
  roles.width = shape.bits / elementBits;
  roles.rows = rowLoop(op, roles, parallel);
  for (unsigned dim : parallel)
    if (roles.lanes != dim && roles.rows != dim) roles.outer.push_back(dim);
  return roles;
}

}  // namespace kiln::schedule
