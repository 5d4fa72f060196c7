#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/emit/gpu/emit.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// The buffer behind views. Different ones never overlap: allocations, and what callers give.
Value wholeBuffer(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>()) value = view.getViewSource();
  return value;
}

bool touches(Operation* op, Value buffer) {
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  return llvm::any_of(used, [&](Value value) { return wholeBuffer(value) == buffer; });
}

// The fill that gives all elements of `init` their value before `op`; null if something else may have.
linalg::FillOp fillBefore(linalg::LinalgOp op, Value init) {
  const Value buffer = wholeBuffer(init);
  for (Operation* before = op->getPrevNode(); before; before = before->getPrevNode()) {
    if (isMemoryEffectFree(before) || isa<memref::AllocOp>(before)) continue;
    if (auto fill = dyn_cast<linalg::FillOp>(before); fill && fill.output() == init) return fill;
    if (!isa<linalg::LinalgOp>(before) || touches(before, buffer)) return {};
  }
  return {};
}

}  // namespace

void foldFills(func::FuncOp function) {
  SmallVector<linalg::LinalgOp> ops;
  function.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    if (op.getNumDpsInits() != 1 || !op.payloadUsesValueFromOperand(op.getDpsInitOperand(0))) continue;
    OpOperand* init = op.getDpsInitOperand(0);
    SmallVector<unsigned> parallel;
    op.getParallelDims(parallel);
    const AffineMap map = op.getMatchingIndexingMap(init);
    // Every element is a result: nobody else can want what was filled in.
    if (!map.isProjectedPermutation() || map.getNumResults() != parallel.size()) continue;
    linalg::FillOp fill = fillBefore(op, init->get());
    TypedAttr number;
    if (!fill || !matchPattern(fill.value(), m_Constant(&number))) continue;
    // An operand that shows the same memory would see the fill.
    if (llvm::any_of(op.getDpsInputOperands(),
                     [&](OpOperand* input) { return wholeBuffer(input->get()) == wholeBuffer(init->get()); }))
      continue;
    ir::InitialAttr::set(op, number);
    fill->erase();
  }
}

}  // namespace kiln::schedule
