#include "compiler_core/schedule/analysis/contraction_roles.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/packed_dot.h"
#include "compiler_core/schedule/analysis/partial_sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// The operations of the body between a block argument and `value`, in order; null where another argument or
// anything but arithmetic and constants takes part. `argument` is set to the one found.
std::optional<SmallVector<Operation*>> pathTo(Operation* from, Value value, BlockArgument& argument) {
  SmallVector<Operation*> path;
  SmallVector<Value> open = {value};
  llvm::SmallDenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second) continue;
    if (auto block = dyn_cast<BlockArgument>(next)) {
      if (argument && argument != block) return std::nullopt;
      argument = block;
      continue;
    }
    Operation* op = next.getDefiningOp();
    if (op->getBlock() != from->getBlock()) {
      if (op->hasTrait<OpTrait::ConstantLike>()) continue;  // has moved out of the body
      return std::nullopt;
    }
    if (!isa<arith::ArithDialect>(op->getDialect()) || op->getNumResults() != 1) return std::nullopt;
    path.push_back(op);
    llvm::append_range(open, op->getOperands());
  }
  if (!argument) return std::nullopt;
  llvm::sort(path, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
  return path;
}

// The codes of small floats as lower/small_float.cc unpacks them.
Multiplicand multiplicandOf(Value value) {
  if (auto extend = value.getDefiningOp<arith::ExtFOp>()) {
    auto code = extend.getIn().getDefiningOp<arith::BitcastOp>();
    return extend.getType().isF32() && code && isa<BlockArgument>(code.getIn()) && code.getType().isF16()
               ? Multiplicand::kF16
               : Multiplicand::kOther;
  }
  auto cast = value.getDefiningOp<arith::BitcastOp>();
  auto shift = cast && cast.getType().isF32() ? cast.getIn().getDefiningOp<arith::ShLIOp>() : nullptr;
  auto code = shift ? shift.getLhs().getDefiningOp<arith::ExtUIOp>() : nullptr;
  APInt by;
  const bool isShifted = shift && matchPattern(shift.getRhs(), m_ConstantInt(&by)) && by == 16;
  return isShifted && code && isa<BlockArgument>(code.getIn()) && code.getIn().getType().isInteger(16)
             ? Multiplicand::kBF16
             : Multiplicand::kOther;
}

}  // namespace

std::optional<Product> findProduct(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0 ||
      ir::PartialsAttr::isOn(op))
    return std::nullopt;
  Block* body = op.getBlock();
  Product found;
  if (ir::DotAttr::isOn(op)) {
    found.sum = body->getTerminator()->getOperand(0).getDefiningOp();
    for (unsigned i = 0; i < 2; ++i) found.factors[i] = body->getArgument(i);
    return found;
  }
  found.sum = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!found.sum || !isa<arith::AddFOp, arith::AddIOp>(found.sum)) return std::nullopt;
  const BlockArgument result = body->getArgument(2);
  for (unsigned i = 0; i < 2; ++i)
    if (found.sum->getOperand(i) == result) found.product = found.sum->getOperand(1 - i).getDefiningOp();
  if (!found.product || !isa<arith::MulFOp, arith::MulIOp>(found.product)) return std::nullopt;
  std::size_t operations = 3;  // product, sum and terminator
  for (Value factor : found.product->getOperands()) {
    BlockArgument argument;
    const auto path = pathTo(found.product, factor, argument);
    if (!path || argument.getOwner() != body || argument == result || found.factors[argument.getArgNumber()])
      return std::nullopt;
    found.factors[argument.getArgNumber()] = factor;
    operations += path->size();
  }
  // Nothing else happens; what two factors share was counted twice.
  if (body->getOperations().size() > operations) return std::nullopt;
  return found;
}

std::optional<Contraction> findContraction(linalg::LinalgOp op) {
  const auto product = findProduct(op);
  if (!product || !op.hasPureBufferSemantics()) return std::nullopt;
  if (!llvm::all_of(op->getOperandTypes(), [](Type type) { return isa<MemRefType>(type); }))
    return std::nullopt;
  Contraction found;
  op.getReductionDims(found.reductions);
  for (unsigned i = 0; i < 2; ++i) {
    Factor& factor = i == 0 ? found.left : found.right;
    factor.operand = op.getDpsInputOperand(i);
    factor.value = product->factors[i];
    factor.multiplicand = multiplicandOf(factor.value);
  }
  SmallVector<unsigned> parallel;
  op.getParallelDims(parallel);
  if (parallel.size() + found.reductions.size() != op.getNumLoops()) return std::nullopt;
  const AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!out.isProjectedPermutation() || out.getNumResults() != parallel.size()) return std::nullopt;
  for (unsigned dim : parallel) {
    const bool left = op.getMatchingIndexingMap(found.left.operand).isFunctionOfDim(dim);
    const bool right = op.getMatchingIndexingMap(found.right.operand).isFunctionOfDim(dim);
    (left == right ? found.batch : left ? found.left.loops : found.right.loops).push_back(dim);
  }
  // Threads that are neighbours write along the columns.
  if (out.getNumResults() > 0 &&
      llvm::is_contained(found.left.loops, out.getDimPosition(out.getNumResults() - 1)))
    std::swap(found.left, found.right);
  return found;
}

Value emitFactor(OpBuilder& builder, Location loc, const Factor& factor, Value element) {
  BlockArgument argument;
  const auto path = pathTo(factor.value.getDefiningOp(), factor.value, argument);
  IRMapping map;
  map.map(argument, element);
  for (Operation* op : *path) {
    Operation* copy = builder.clone(*op, map);
    copy->setLoc(loc);
  }
  return map.lookup(factor.value);
}

}  // namespace kiln::schedule
