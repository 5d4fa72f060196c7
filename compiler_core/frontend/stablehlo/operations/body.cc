#include "compiler_core/frontend/stablehlo/operations/body.h"

#include <limits>

#include "compiler_core/reference/element.h"
#include "compiler_core/reference/evaluator.h"

namespace kiln::stablehlo {

Combine combineOf(OperationContext& op, const Region& region) {
  if (region.arguments.size() != 2 || region.operations.empty()) return Combine::kOther;
  const Operation& last = region.operations.back();
  if (last.operands.size() != 1) return Combine::kOther;
  const ValueId a = region.arguments[0], b = region.arguments[1];
  if (region.operations.size() == 1) return last.operands[0] == b ? Combine::kSecond : Combine::kOther;
  const Operation& first = region.operations.front();
  if (region.operations.size() != 2 || first.operands.size() != 2 || first.results.size() != 1 ||
      last.operands[0] != first.results[0])
    return Combine::kOther;
  const bool isStraight = first.operands[0] == a && first.operands[1] == b;
  const bool isTurned = first.operands[0] == b && first.operands[1] == a;
  if (!isStraight && !isTurned) return Combine::kOther;
  const auto combine = llvm::StringSwitch<Combine>(first.name)
                           .Case("add", Combine::kAdd)
                           .Case("multiply", Combine::kMul)
                           .Case("minimum", Combine::kMin)
                           .Case("maximum", Combine::kMax)
                           .Case("and", Combine::kAnd)
                           .Case("or", Combine::kOr)
                           .Case("xor", Combine::kXor)
                           .Default(Combine::kOther);
  const bool isBool = elementOf(op.operand(0)).isInteger(1);
  if (isBool && (combine == Combine::kAdd || combine == Combine::kMax)) return Combine::kOr;
  if (isBool && (combine == Combine::kMul || combine == Combine::kMin)) return Combine::kAnd;
  return combine;
}

ir::BinaryKind binaryKind(Combine combine) {
  switch (combine) {
    case Combine::kMul:
      return ir::BinaryKind::Mul;
    case Combine::kMin:
      return ir::BinaryKind::Min;
    case Combine::kMax:
      return ir::BinaryKind::Max;
    case Combine::kAnd:
      return ir::BinaryKind::And;
    case Combine::kOr:
      return ir::BinaryKind::Or;
    case Combine::kXor:
      return ir::BinaryKind::Xor;
    default:
      return ir::BinaryKind::Add;
  }
}

bool isNeutral(OperationContext& op, Combine combine, Value value) {
  const auto known = frontend::GraphBuilder::constantScalar(value);
  if (!known) return false;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  auto is = [&](double wanted) {
    // As the element type has it: the largest integer for infinity.
    const auto held = frontend::GraphBuilder::constantScalar(op.scalar(elementOf(value), wanted));
    return held && *held == *known;
  };
  switch (combine) {
    case Combine::kAdd:
    case Combine::kOr:
    case Combine::kXor:
      return *known == 0;
    case Combine::kMul:
      return *known == 1;
    case Combine::kMin:
      return is(kInfinity);
    case Combine::kMax:
      return is(-kInfinity);
    case Combine::kAnd:
      return elementOf(value).isInteger(1)
                 ? *known != 0
                 : *known ==
                       (elementOf(value).isUnsignedInteger()
                            ? *frontend::GraphBuilder::constantScalar(op.scalar(elementOf(value), kInfinity))
                            : -1);
    default:
      return false;
  }
}

Result<Values> combineRows(OperationContext& op, Values inputs, Combiner combine) {
  for (std::int64_t rows = shapeOf(inputs[0])[0]; rows > 1; rows = (rows + 1) / 2) {
    Values even, odd, rest;
    for (Value input : inputs) {
      KILN_ASSIGN(Value a, sliceAlong(op, input, 0, 0, rows / 2, 2));
      KILN_ASSIGN(Value b, sliceAlong(op, input, 0, 1, rows / 2, 2));
      even.push_back(a);
      odd.push_back(b);
      if (rows % 2 == 0) continue;
      KILN_ASSIGN(Value c, sliceAlong(op, input, 0, rows - 1, 1));
      rest.push_back(c);
    }
    KILN_ASSIGN(Values combined, combine(even, odd));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = combined[i];
      if (rows % 2 == 0) continue;
      KILN_ASSIGN(inputs[i], op.concat({combined[i], rest[i]}, 0));
    }
  }
  return inputs;
}

}  // namespace kiln::stablehlo
