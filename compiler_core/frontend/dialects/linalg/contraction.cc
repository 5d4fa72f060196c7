// Sums of products: matmul and its kin, linalg.contract, and generics of that kind.
#include "compiler_core/frontend/dialects/linalg/structured.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kiln::dialects::linalg {
namespace {

using mlir::linalg::LinalgOp;

// Which arguments of the block a value in it depends on. Bodies are small, and no operation is seen twice.
llvm::SmallPtrSet<mlir::Value, 4> argumentsOf(mlir::Value value, mlir::Block* block) {
  llvm::SmallPtrSet<mlir::Value, 4> found;
  llvm::SmallPtrSet<mlir::Value, 16> seen;
  llvm::SmallVector<mlir::Value> next{value};
  while (!next.empty()) {
    const mlir::Value one = next.pop_back_val();
    if (!seen.insert(one).second) continue;
    const auto argument = llvm::dyn_cast<mlir::BlockArgument>(one);
    if (argument && argument.getOwner() == block) found.insert(one);
    mlir::Operation* made = one.getDefiningOp();
    if (made && made->getBlock() == block) llvm::append_range(next, made->getOperands());
  }
  return found;
}

// The product that is added to the result; null where the body does anything else.
mlir::Operation* productOf(mlir::Block* block) {
  mlir::Operation* terminator = block->getTerminator();
  if (terminator->getNumOperands() != 1) return nullptr;
  mlir::Operation* sum = terminator->getOperand(0).getDefiningOp();
  if (!sum || !llvm::isa<mlir::arith::AddFOp, mlir::arith::AddIOp>(sum)) return nullptr;
  const mlir::Value result = block->getArguments().back();
  if (!result.hasOneUse() || !sum->getResult(0).hasOneUse()) return nullptr;
  const unsigned other = sum->getOperand(0) == result ? 1 : 0;
  if (sum->getOperand(1 - other) != result) return nullptr;
  mlir::Operation* product = sum->getOperand(other).getDefiningOp();
  const bool isProduct = product && llvm::isa<mlir::arith::MulFOp, mlir::arith::MulIOp>(product);
  return isProduct && !product->getResult(0).getType().isInteger(1) ? product : nullptr;
}

// What `factor` is when input `index` is the operand itself and the other input is 1.
Result<Value> factorOf(OperationContext& op, LinalgOp operation, mlir::Value factor, std::size_t index) {
  if (factor == operation.getBlock()->getArgument(static_cast<unsigned>(index))) return op.operand(index);
  Values arguments = op.operands();
  arguments[1 - index] = op.scalar(elementOf(arguments[1 - index]), 1);
  arguments.back() = op.scalar(elementOf(arguments.back()), 0);
  const Shape shape = dimsOf(op.operand(index));
  KILN_TRY(op.run(*operation.getBlock()->getParent(), arguments, &shape));
  const Value made = op.regions().find(factor);
  if (!made) return unserved("it depends on what is not served");
  return made;
}

// Loops by where they are.
struct Roles {
  Dims batch, left, right, summed;
};

std::optional<Roles> rolesOf(const Loops& loops) {
  Roles roles;
  for (std::size_t loop = 0; loop < loops.count(); ++loop) {
    const auto number = static_cast<std::int64_t>(loop);
    const bool isLeft = loops.find(0, number) >= 0, isRight = loops.find(1, number) >= 0;
    const bool isResult = loops.find(loops.inputs, number) >= 0;
    if (isResult == loops.isReduced[loop] || (!isResult && !(isLeft && isRight)) || !(isLeft || isRight))
      return std::nullopt;
    (!isResult           ? roles.summed
     : isLeft && isRight ? roles.batch
     : isLeft            ? roles.left
                         : roles.right)
        .push_back(number);
  }
  return roles;
}

Dim extentOf(const Loops& loops, const Dims& some) {
  Dim extent = 1;
  for (const std::int64_t loop : some) extent = extent * loops.extents[static_cast<std::size_t>(loop)];
  return extent;
}

// The operand as [batch, first, second], each of which may stand for several loops or none.
Result<Value> grouped(OperationContext& op, Value value, const Loops& loops, std::size_t operand,
                      const Dims& batch, const Dims& first, const Dims& second) {
  Dims order;
  for (const Dims* group : {&batch, &first, &second})
    for (const std::int64_t loop : *group) order.push_back(loops.find(operand, loop));
  // Dimensions of one element that are no loop's.
  for (auto [i, place] : llvm::enumerate(loops.operands[operand]))
    if (place.loop < 0) order.push_back(static_cast<std::int64_t>(i));
  if (!llvm::is_sorted(order)) {
    KILN_ASSIGN(value, op.transpose(value, order));
  }
  return op.reshape(value, Shape{extentOf(loops, batch), extentOf(loops, first), extentOf(loops, second)});
}

bool hasIndices(mlir::Block* block) {
  return llvm::any_of(*block, [](mlir::Operation& one) { return llvm::isa<mlir::linalg::IndexOp>(one); });
}

}  // namespace

Result<std::optional<Factors>> factorsOf(OperationContext& op, LinalgOp operation) {
  mlir::Block* block = operation.getBlock();
  // Inputs beyond two are zero points.
  const auto inputs = static_cast<std::size_t>(operation.getNumDpsInputs());
  if (operation.getNumDpsInits() != 1 || inputs < 2 || hasIndices(block)) return std::nullopt;
  for (const Value scalar : llvm::ArrayRef(op.operands()).slice(2, inputs - 2))
    if (rankOf(scalar) != 0) return std::nullopt;
  mlir::Operation* product = productOf(block);
  if (!product) return std::nullopt;
  mlir::Value lhs = product->getOperand(0), rhs = product->getOperand(1);
  if (!argumentsOf(lhs, block).contains(block->getArgument(0))) std::swap(lhs, rhs);
  const auto left = argumentsOf(lhs, block), right = argumentsOf(rhs, block);
  if (!left.contains(block->getArgument(0)) || left.contains(block->getArgument(1)) ||
      !right.contains(block->getArgument(1)) || right.contains(block->getArgument(0)))
    return std::nullopt;
  Factors factors;
  KILN_ASSIGN(factors.lhs, factorOf(op, operation, lhs, 0));
  KILN_ASSIGN(factors.rhs, factorOf(op, operation, rhs, 1));
  return std::optional(factors);
}

Result<std::optional<Value>> contraction(OperationContext& op, LinalgOp operation, const Loops& loops) {
  if (loops.inputs < 2) return std::nullopt;
  const std::optional<Roles> roles = rolesOf(loops);
  if (!roles) return std::nullopt;
  KILN_ASSIGN(const std::optional<Factors> factors, factorsOf(op, operation));
  if (!factors) return std::nullopt;
  KILN_ASSIGN(const Combiner sum, combinerOf(operation));
  // Narrow floats are added up in f32 and rounded once.
  const mlir::Type element = elementOf(op.operands().back());
  const bool isNarrow = llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  const mlir::Type wide = isNarrow ? op.f32() : element;
  KILN_ASSIGN(Value lhs, grouped(op, factors->lhs, loops, 0, roles->batch, roles->left, roles->summed));
  KILN_ASSIGN(Value rhs, grouped(op, factors->rhs, loops, 1, roles->batch, roles->summed, roles->right));
  KILN_ASSIGN(lhs, op.cast(lhs, wide));
  KILN_ASSIGN(rhs, op.cast(rhs, wide));
  KILN_ASSIGN(Value result, op.matmul(lhs, rhs));
  KILN_ASSIGN(result, op.cast(result, element));
  Dims order(roles->batch);
  llvm::append_range(order, roles->left);
  llvm::append_range(order, roles->right);
  Shape shape;
  for (const std::int64_t loop : order) shape.push_back(loops.extents[static_cast<std::size_t>(loop)]);
  KILN_ASSIGN(result, op.reshape(result, shape));
  KILN_ASSIGN(result, fromSpace(op, result, order, loops.operands[loops.inputs]));
  KILN_ASSIGN(result, startingFrom(op, sum, op.operand(loops.inputs), result));
  return std::optional(result);
}

}  // namespace kiln::dialects::linalg
