#include "compiler_core/schedule/strategies/sums/fused_reduction.h"

#include "compiler_core/schedule/analysis/body.h"
#include "compiler_core/schedule/analysis/groups.h"
#include "compiler_core/schedule/strategies/sums/sums.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// What a buffer is a view of.
Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) buffer = view.getViewSource();
  return buffer;
}

// The operation before `op` that touches memory, but for what fills the sum's result.
linalg::LinalgOp before(Operation* op, linalg::LinalgOp sum) {
  const auto isPassedOver = [&](Operation* other) {
    if (isMemoryEffectFree(other) || isa<memref::AllocOp>(other)) return true;
    auto fill = dyn_cast<linalg::FillOp>(other);
    return fill && fill.getDpsInits()[0] == sum.getDpsInits()[0];
  };
  do op = op->getPrevNode();
  while (op && isPassedOver(op));
  return dyn_cast_or_null<linalg::LinalgOp>(op);
}

// Whether the operation goes over the elements of the sum as the sum does, in numbers of its type.
bool goesAlong(linalg::LinalgOp part, linalg::LinalgOp sum, const VectorShape& shape) {
  if (part.getNumDpsInits() != 1 || !isPointwise(part) || part.hasIndexSemantics() ||
      !isSafeOnPaddingLanes(part) || !findRoles(part, shape) ||
      part.getStaticLoopRanges() != sum.getStaticLoopRanges() || part.hasDynamicShape() ||
      !part.getMatchingIndexingMap(part.getDpsInitOperand(0)).isIdentity())
    return false;
  const unsigned along = part.getNumLoops() - 1;
  const Type type = getElementTypeOrSelf(sum.getDpsInits()[0].getType());
  return llvm::all_of(part->getOpOperands(), [&](OpOperand& operand) {
    const auto stride = strideAlong(part.getMatchingIndexingMap(&operand), operand.get().getType(), along);
    return getElementTypeOrSelf(operand.get().getType()) == type && (stride == 0 || stride == 1);
  });
}

// Whether all of these may go element by element together: what one of them writes is read by another at the
// same place only.
bool mayRunTogether(ArrayRef<linalg::LinalgOp> parts, linalg::LinalgOp sum) {
  llvm::SmallDenseMap<Value, Value> written;  // by root
  for (linalg::LinalgOp part : parts) {
    const Value buffer = part.getDpsInits()[0];
    if (!written.try_emplace(rootOf(buffer), buffer).second && written[rootOf(buffer)] != buffer)
      return false;
  }
  if (written.contains(rootOf(sum.getDpsInits()[0]))) return false;
  SmallVector<linalg::LinalgOp> all(parts);
  all.push_back(sum);
  for (linalg::LinalgOp op : all)
    for (OpOperand& operand : op->getOpOperands()) {
      if (op != sum && rootOf(operand.get()) == rootOf(sum.getDpsInits()[0])) return false;
      const auto found = written.find(rootOf(operand.get()));
      if (found == written.end()) continue;
      if (found->second != operand.get() || !op.getMatchingIndexingMap(&operand).isIdentity()) return false;
    }
  return true;
}

}  // namespace

FusedReduction findFusedReduction(linalg::LinalgOp op, const VectorShape& shape,
                                  const llvm::DenseSet<Operation*>& taken) {
  FusedReduction row{op, {}, {}};
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  if (reductions.size() != 1 || reductions[0] + 1 != op.getNumLoops() || op.hasDynamicShape() ||
      !sumsAlongRows(op, shape))
    return row;
  llvm::SmallPtrSet<Value, 4> wanted;  // buffers that the operations found so far read
  for (Value input : op.getDpsInputs()) wanted.insert(input);
  for (linalg::LinalgOp part = before(op, op); part; part = before(part, op)) {
    if (taken.contains(part) || !wanted.contains(part.getDpsInits()[0]) || !goesAlong(part, op, shape)) break;
    SmallVector<linalg::LinalgOp> longer = {part};
    llvm::append_range(longer, row.parts);
    if (!mayRunTogether(longer, op)) break;
    row.parts = std::move(longer);
    for (Value input : part.getDpsInputs()) wanted.insert(input);
  }
  for (linalg::LinalgOp part : row.parts) {
    const Value buffer = part.getDpsInits()[0];
    const auto isOurs = [&](Operation* user) {
      return user == op || llvm::is_contained(row.parts, user) || isa<memref::DeallocOp>(user);
    };
    row.kept.push_back(!buffer.getDefiningOp<memref::AllocOp>() || !llvm::all_of(buffer.getUsers(), isOurs));
  }
  return row;
}

}  // namespace kiln::schedule
