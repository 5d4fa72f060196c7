#include "compiler_core/schedule/analysis/body.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/dot.h"
#include "compiler_core/schedule/analysis/packed_dot.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// The product that `add` absorbs, if any.
arith::MulFOp absorbed(arith::AddFOp add) {
  for (Value operand : add->getOperands())
    if (auto product = operand.getDefiningOp<arith::MulFOp>())
      if (product->hasOneUse() && product->getBlock() == add->getBlock()) return product;
  return {};
}

bool isAbsorbed(Operation& op) {
  if (!isa<arith::MulFOp>(op) || !op.hasOneUse()) return false;
  auto add = dyn_cast<arith::AddFOp>(*op.user_begin());
  return add && absorbed(add).getOperation() == &op;
}

}  // namespace

Value splat(OpBuilder& builder, Location loc, Value value, std::int64_t lanes) {
  if (lanes == 0) return value;
  return vector::BroadcastOp::create(builder, loc, VectorType::get({lanes}, value.getType()), value);
}

SmallVector<Value> emitBody(OpBuilder& builder, linalg::LinalgOp op, ArrayRef<Value> arguments,
                            std::int64_t lanes, bool fuse, ArrayRef<Value> positions) {
  if (auto kind = ir::DotAttr::get(op))
    return {emitDot(builder, op.getLoc(), kind.getValue(), arguments, lanes)};
  Block* body = op.getBlock();
  IRMapping map;
  for (auto [argument, value] : llvm::zip_equal(body->getArguments(), arguments))
    if (value) map.map(argument, value);
  auto type = [&](Type element) -> Type { return lanes ? Type(VectorType::get({lanes}, element)) : element; };
  auto get = [&](Value value) {
    if (!map.contains(value))
      map.map(value, splat(builder, op.getLoc(), value, lanes));  // from outside the body
    return map.lookup(value);
  };
  for (Operation& inner : body->without_terminator()) {
    const Location loc = inner.getLoc();
    if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
      TypedAttr value = constant.getValue();
      if (lanes) value = DenseElementsAttr::get(VectorType::get({lanes}, value.getType()), Attribute(value));
      map.map(constant.getResult(), arith::ConstantOp::create(builder, loc, value).getResult());
      continue;
    }
    if (auto index = dyn_cast<linalg::IndexOp>(inner); index && !positions.empty()) {
      map.map(index.getResult(), positions[index.getDim()]);
      continue;
    }
    if (fuse && isAbsorbed(inner)) continue;
    if (auto add = dyn_cast<arith::AddFOp>(inner); fuse && add) {
      if (arith::MulFOp product = absorbed(add)) {
        Value other = add.getLhs() == product.getResult() ? add.getRhs() : add.getLhs();
        map.map(add.getResult(),
                math::FmaOp::create(builder, loc, get(product.getLhs()), get(product.getRhs()), get(other))
                    .getResult());
        continue;
      }
    }
    for (Value operand : inner.getOperands()) get(operand);
    Operation* copy = inner.clone(map);
    for (OpResult result : copy->getResults()) result.setType(type(result.getType()));
    builder.insert(copy);
    if (!positions.empty())
      copy->walk([&](linalg::IndexOp index) {
        index.replaceAllUsesWith(positions[index.getDim()]);
        index.erase();
      });
    map.map(inner.getResults(), copy->getResults());
  }
  SmallVector<Value> results;
  for (Value value : body->getTerminator()->getOperands()) results.push_back(get(value));
  return results;
}

bool isSafeOnPaddingLanes(linalg::LinalgOp op) {
  return llvm::none_of(op.getBlock()->without_terminator(), [](Operation& inner) {
    return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp,
               arith::CeilDivUIOp, arith::FloorDivSIOp>(inner);
  });
}

}  // namespace kiln::schedule
