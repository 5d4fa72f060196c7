#include "compiler_core/schedule/strategies/gpu_product/prologue_epilogue.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/body.h"
#include "compiler_core/schedule/analysis/groups.h"
#include "compiler_core/schedule/emit/gpu/emit.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// Each result of a thread gets a copy of the body.
bool isLight(linalg::LinalgOp op) {
  constexpr int kMost = 28;  // room for a bias, a residual and the rounding to bf16
  int steps = 0;
  for (Operation& inner : op.getBlock()->without_terminator()) {
    if (isa<arith::ConstantOp>(inner)) continue;
    if (!OpTrait::hasElementwiseMappableTraits(&inner)) return false;  // reads its position or memory
    if (isa<math::MathDialect>(inner.getDialect()) && !isa<math::AbsFOp, math::SqrtOp, math::FmaOp>(inner))
      return false;
    ++steps;
  }
  return steps <= kMost;
}

bool isPermuted(linalg::LinalgOp op, OpOperand& operand) {
  return op.getMatchingIndexingMap(&operand).isPermutation();
}

// The nearest operation with an effect in a direction, if it is a pointwise one with one result.
linalg::LinalgOp nearest(linalg::LinalgOp op, bool forwards) {
  Operation* next = op;
  do {
    next = forwards ? next->getNextNode() : next->getPrevNode();
  } while (next && (isMemoryEffectFree(next) || isa<memref::AllocOp>(next)));
  auto found = dyn_cast_or_null<linalg::LinalgOp>(next);
  if (!found || !isPointwise(found) || found.getNumDpsInits() != 1 || !found.hasPureBufferSemantics() ||
      !isLight(found))
    return {};
  return found;
}

// Writes `buffer` anew at every position.
bool fills(linalg::LinalgOp op, Value buffer) {
  OpOperand* init = op.getDpsInitOperand(0);
  return init->get() == buffer && isPermuted(op, *init) && !op.payloadUsesValueFromOperand(init) &&
         llvm::none_of(op.getDpsInputOperands(), [&](OpOperand* input) { return input->get() == buffer; });
}

// Takes each element of `buffer` once, and leaves nothing that is still read there as it was.
bool takes(linalg::LinalgOp op, Value buffer, ArrayRef<Operation*> own) {
  AffineMap map;
  for (OpOperand& operand : op->getOpOperands()) {
    if (operand.get() != buffer) continue;
    const AffineMap here = op.getMatchingIndexingMap(&operand);
    if (!here.isPermutation() || (map && map != here)) return false;
    map = here;
  }
  if (!map || !isPermuted(op, *op.getDpsInitOperand(0))) return false;
  if (op.getDpsInits()[0] == buffer) return true;
  auto local = buffer.getDefiningOp<memref::AllocOp>();
  return local && local->getBlock() == op->getBlock() &&
         llvm::all_of(local->getUsers(), [&](Operation* user) {
           return user == op || llvm::is_contained(own, user) || isa<memref::DeallocOp>(user);
         });
}

// The loops of `op` where `operand` is accessed at `indices`.
SmallVector<OpFoldResult> loopsAt(linalg::LinalgOp op, OpOperand& operand, ArrayRef<Value> indices) {
  const AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<OpFoldResult> loops(map.getNumDims());
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    loops[map.getDimPosition(i)] = getAsOpFoldResult(indices[i]);
  return loops;
}

SmallVector<Value> indicesOf(OpBuilder& b, linalg::LinalgOp op, OpOperand& operand,
                             ArrayRef<OpFoldResult> loops) {
  const AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> indices;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    indices.push_back(getValueOrCreateConstantIndexOp(
        b, op.getLoc(), affine::makeComposedFoldedAffineApply(b, op.getLoc(), map.getSubMap({i}), loops)));
  return indices;
}

// The result of a pointwise operation at `loops`; what it reads from `buffer` is `given`.
Value bodyAt(OpBuilder& b, linalg::LinalgOp op, ArrayRef<OpFoldResult> loops, Value buffer, Value given) {
  SmallVector<Value> arguments;
  for (OpOperand& operand : op->getOpOperands()) {
    Value source = operand.get();
    if (!op.payloadUsesValueFromOperand(&operand))
      arguments.emplace_back();
    else if (given && source == buffer)
      arguments.push_back(given);
    else if (!isa<MemRefType>(source.getType()))
      arguments.push_back(source);
    else
      arguments.push_back(memref::LoadOp::create(b, op.getLoc(), source, indicesOf(b, op, operand, loops)));
  }
  return emitBody(b, op, arguments, 0, false)[0];
}

}  // namespace

PrologueEpilogue::PrologueEpilogue(linalg::LinalgOp op) : op_(op) {
  Value buffer = op.getDpsInits()[0];
  if (!ir::InitialAttr::isOn(op))
    if (auto before = nearest(op, false); before && fills(before, buffer)) before_ = before;
  SmallVector<Operation*> own = {op};
  if (before_) own.push_back(before_);
  if (auto after = nearest(op, true); after && takes(after, buffer, own)) after_ = after;
}

SmallVector<Operation*> PrologueEpilogue::absorbed() const {
  SmallVector<Operation*> ops;
  if (before_) ops.push_back(before_);
  if (after_) ops.push_back(after_);
  return ops;
}

Value PrologueEpilogue::begin(OpBuilder& builder, ArrayRef<Value> indices) const {
  Value buffer = linalg::LinalgOp(op_).getDpsInits()[0];
  if (auto number = ir::InitialAttr::get(op_))
    return arith::ConstantOp::create(builder, op_->getLoc(), number);
  if (!before_) return memref::LoadOp::create(builder, op_->getLoc(), buffer, indices);
  linalg::LinalgOp before = before_;
  return bodyAt(builder, before, loopsAt(before, *before.getDpsInitOperand(0), indices), {}, {});
}

void PrologueEpilogue::finish(OpBuilder& builder, Value value, ArrayRef<Value> indices) const {
  Value buffer = linalg::LinalgOp(op_).getDpsInits()[0];
  if (!after_) {
    memref::StoreOp::create(builder, op_->getLoc(), value, buffer, indices);
    return;
  }
  linalg::LinalgOp after = after_;
  OpOperand* taken = nullptr;
  for (OpOperand& operand : after->getOpOperands())
    if (operand.get() == buffer) taken = &operand;
  const auto loops = loopsAt(after, *taken, indices);
  OpOperand& out = *after.getDpsInitOperand(0);
  memref::StoreOp::create(builder, after.getLoc(), bodyAt(builder, after, loops, buffer, value), out.get(),
                          indicesOf(builder, after, out, loops));
}

void PrologueEpilogue::erase(RewriterBase& rewriter) {
  Value buffer = op_.getDpsInits()[0];
  for (linalg::LinalgOp op : {after_, op_, before_})
    if (op) rewriter.eraseOp(op);
  auto local = buffer.getDefiningOp<memref::AllocOp>();
  if (!local || !llvm::all_of(local->getUsers(), llvm::IsaPred<memref::DeallocOp>)) return;
  for (Operation* user : llvm::make_early_inc_range(local->getUsers())) rewriter.eraseOp(user);
  rewriter.eraseOp(local);
}

}  // namespace kiln::schedule
