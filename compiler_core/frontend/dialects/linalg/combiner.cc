// How results are combined with what they start from.
#include <limits>

#include "compiler_core/frontend/dialects/linalg/loops.h"
#include "compiler_core/frontend/dialects/operations/elementwise.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kiln::dialects::linalg {
namespace {

using ir::BinaryKind;
using ir::ReduceKind;

// What an operation of a body combines by; nullopt where it is no such one.
std::optional<Combiner> kindOf(mlir::Operation* operation) {
  return llvm::TypeSwitch<mlir::Operation*, std::optional<Combiner>>(operation)
      .Case<mlir::arith::AddFOp, mlir::arith::AddIOp>([](auto) { return Combiner{ReduceKind::Sum}; })
      .Case<mlir::arith::MulFOp, mlir::arith::MulIOp>([](auto) { return Combiner{ReduceKind::Prod}; })
      .Case<mlir::arith::MaximumFOp, mlir::arith::MaxSIOp>([](auto) { return Combiner{ReduceKind::Max}; })
      .Case<mlir::arith::MinimumFOp, mlir::arith::MinSIOp>([](auto) { return Combiner{ReduceKind::Min}; })
      .Case<mlir::arith::MaxUIOp>([](auto) { return Combiner{ReduceKind::Max, true}; })
      .Case<mlir::arith::MinUIOp>([](auto) { return Combiner{ReduceKind::Min, true}; })
      .Case<mlir::arith::MaxNumFOp>([](auto) { return Combiner{ReduceKind::Max, false, true}; })
      .Case<mlir::arith::MinNumFOp>([](auto) { return Combiner{ReduceKind::Min, false, true}; })
      // Of i1 these are the larger and the smaller.
      .Case<mlir::arith::OrIOp>([](mlir::arith::OrIOp op) -> std::optional<Combiner> {
        return op.getType().isInteger(1) ? std::optional(Combiner{ReduceKind::Max, true}) : std::nullopt;
      })
      .Case<mlir::arith::AndIOp>([](mlir::arith::AndIOp op) -> std::optional<Combiner> {
        return op.getType().isInteger(1) ? std::optional(Combiner{ReduceKind::Min, true}) : std::nullopt;
      })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

BinaryKind binaryOf(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::Sum:
      return BinaryKind::Add;
    case ReduceKind::Prod:
      return BinaryKind::Mul;
    case ReduceKind::Max:
      return BinaryKind::Max;
    case ReduceKind::Min:
      break;
  }
  return BinaryKind::Min;
}

// The element of a constant, also of one that is repeated.
std::optional<mlir::Attribute> elementOfFill(Value value) {
  if (auto broadcast = value.getDefiningOp<ir::BroadcastOp>()) value = broadcast.getInput();
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  const auto elements =
      constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : mlir::DenseElementsAttr();
  if (!elements || !elements.isSplat()) return std::nullopt;
  return elements.getSplatValue<mlir::Attribute>();
}

}  // namespace

Result<Combiner> combinerOf(mlir::linalg::LinalgOp operation) {
  mlir::Block* block = operation.getBlock();
  if (operation.getNumDpsInits() != 1) return unserved("a reduction of several results is not served");
  const mlir::Value start = operation.getMatchingBlockArgument(operation.getDpsInitOperand(0));
  const mlir::Value yielded = block->getTerminator()->getOperand(0);
  mlir::Operation* last = yielded.getDefiningOp();
  const std::optional<Combiner> combiner = last ? kindOf(last) : std::nullopt;
  if (!combiner)
    return unserved("a reduction by anything but a sum, a product, a largest or a smallest is not served");
  if (!start.hasOneUse() || *start.user_begin() != last || !yielded.hasOneUse())
    return unserved("a reduction whose body uses its result more than once is not served");
  return *combiner;
}

Value neutral(OperationContext& op, const Combiner& combiner, mlir::Type element) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool isMax = combiner.kind == ReduceKind::Max;
  if (combiner.kind == ReduceKind::Sum) return op.scalar(element, 0);
  if (combiner.kind == ReduceKind::Prod) return op.scalar(element, 1);
  if (llvm::isa<mlir::FloatType>(element)) return op.scalar(element, isMax ? -kInfinity : kInfinity);
  const unsigned width = element.getIntOrFloatBitWidth();
  if (combiner.isUnsigned) return op.integer(element, isMax ? 0 : -1);
  const auto most = static_cast<std::int64_t>((std::uint64_t{1} << (width - 1)) - 1);
  return op.integer(element, isMax ? -most - 1 : most);
}

Result<Value> combine(OperationContext& op, const Combiner& combiner, Value a, Value b) {
  const BinaryKind kind = binaryOf(combiner.kind);
  const Term first = op.term(a), second = op.term(b);
  if (elementOf(a).isInteger(1))
    return (combiner.kind == ReduceKind::Max ? first | second : first & second).value();
  if (combiner.isUnsigned) return unsignedBinary(op, kind, first, second).value();
  if (combiner.ignoresNan) return ignoringNan(kind, first, second).value();
  return first.binary(kind, second).value();
}

Result<Value> reduce(OperationContext& op, const Combiner& combiner, Value value, const Dims& axes) {
  const mlir::Type element = elementOf(value);
  Term term = op.term(value);
  if (element.isInteger(1)) {
    if (combiner.kind != ReduceKind::Max && combiner.kind != ReduceKind::Min)
      return unserved("sums and products of i1 are not served");
    return term.cast(op.i32()).reduce(combiner.kind, axes).cast(element).value();
  }
  if (combiner.isUnsigned)
    return bitcastTo(op, bitsOf(op, term).reduce(combiner.kind, axes), element).value();
  if (combiner.ignoresNan) term = isNan(term).select(op.term(neutral(op, combiner, element)), term);
  const bool isNarrow = isFloat(value) && element.getIntOrFloatBitWidth() < 32;
  if (!isNarrow) return term.reduce(combiner.kind, axes).value();
  return term.cast(op.f32()).reduce(combiner.kind, axes).cast(element).value();
}

Result<Value> startingFrom(OperationContext& op, const Combiner& combiner, Value start, Value result) {
  const std::optional<mlir::Attribute> given = elementOfFill(start);
  const std::optional<mlir::Attribute> nothing = elementOfFill(neutral(op, combiner, elementOf(start)));
  if (given && given == nothing) return result;
  return combine(op, combiner, start, result);
}

Result<Value> calculated(OperationContext& op, mlir::linalg::LinalgOp operation, const Values& inputs,
                         const Combiner& combiner, const Shape& space) {
  Values arguments = inputs;
  for (const Value start : llvm::drop_begin(op.operands(), inputs.size()))
    arguments.push_back(neutral(op, combiner, elementOf(start)));
  KILN_ASSIGN(const Values results, op.run(*operation.getBlock()->getParent(), arguments, &space));
  return results[0];
}

}  // namespace kiln::dialects::linalg
