#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/Pass/Pass.h"

namespace kiln::transforms {

#define GEN_PASS_DEF_WIDENPASS
#include "compiler_core/transforms/passes.h.inc"

namespace {

using namespace mlir;

Type elementOf(Value value) {
  return ir::tensorType(value).getElementType();
}
bool is16BitFloat(Type element) {
  return element.isF16() || element.isBF16();
}

// A copy of `op` on `operands`, whose results have `element` where they had `before`.
Operation* rebuild(OpBuilder& b, Operation* op, ValueRange operands, Type before, Type element) {
  Operation* copy = op->clone();
  copy->setOperands(operands);
  for (OpResult result : copy->getResults())
    if (elementOf(result) == before) result.setType(ir::withElement(ir::tensorType(result), element));
  return b.insert(copy);
}

// In f32, rounded once at the end.
void sumInF32(Operation* op, Type small) {
  OpBuilder b(op);
  const Location loc = op->getLoc();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (elementOf(operand) == small)
      operand = ir::CastOp::create(b, loc, ir::withElement(ir::tensorType(operand), b.getF32Type()), operand,
                                   UnitAttr(), ir::CastRoundingAttr());
    operands.push_back(operand);
  }
  Operation* wide = rebuild(b, op, operands, small, b.getF32Type());
  for (auto [old, now] : llvm::zip_equal(op->getResults(), wide->getResults()))
    old.replaceAllUsesWith(
        old.getType() == now.getType()
            ? Value(now)
            : Value(ir::CastOp::create(b, loc, old.getType(), now, UnitAttr(), ir::CastRoundingAttr())));
  op->erase();
}

// Flipping the highest bit turns the order of unsigned numbers into that of signed ones, and back.
void orderAsSigned(Operation* op, IntegerType natural) {
  OpBuilder b(op);
  const Location loc = op->getLoc();
  auto whole = IntegerType::get(op->getContext(), natural.getWidth());
  auto flip = [&](Value value) -> Value {
    auto scalar = RankedTensorType::get({}, whole);
    auto highest = DenseElementsAttr::get(scalar, APInt::getSignedMinValue(whole.getWidth()));
    Value mask =
        ir::BroadcastOp::create(b, loc, value.getType(), ir::ConstantOp::create(b, loc, scalar, highest));
    return ir::BinaryOp::create(b, loc, value.getType(), ir::BinaryKind::Xor, value, mask);
  };
  auto as = [&](Value value, Type element) -> Value {
    return ir::BitcastOp::create(b, loc, ir::withElement(ir::tensorType(value), element), value);
  };
  Value input = flip(as(op->getOperand(0), whole));
  Operation* ordered = rebuild(b, op, input, natural, whole);
  op->getResult(0).replaceAllUsesWith(as(flip(ordered->getResult(0)), natural));
  op->erase();
}

bool comparesElements(Operation* op) {
  if (auto reduce = dyn_cast<ir::ReduceOp>(op))
    return reduce.getKind() == ir::ReduceKind::Max || reduce.getKind() == ir::ReduceKind::Min;
  auto pool = dyn_cast<ir::PoolOp>(op);
  return pool && pool.getKind() == ir::PoolKind::Max;
}

struct WidenPass : impl::WidenPassBase<WidenPass> {
  void runOnOperation() override {
    SmallVector<Operation*> ops;
    getOperation().walk([&](Operation* op) {
      if (isa<ir::ReduceOp, ir::SoftmaxOp, ir::MatmulOp, ir::ConvOp, ir::PoolOp, ir::BatchNormOp,
              ir::CumulativeOp, ir::AttentionOp>(op))
        ops.push_back(op);
    });
    for (Operation* op : ops) {
      const Type element = elementOf(op->getResult(0));
      if (is16BitFloat(element))
        sumInF32(op, element);
      else if (element.isUnsignedInteger() && comparesElements(op))
        orderAsSigned(op, cast<IntegerType>(element));
    }
  }
};

}  // namespace

}  // namespace kiln::transforms
