#include "compiler_core/frontend/stablehlo/operations/arg_reduction.h"

#include "compiler_core/frontend/stablehlo/operations/body.h"
#include "compiler_core/frontend/stablehlo/program/attributes.h"

namespace kiln::stablehlo {
namespace {

// Reads a body backwards from what it returns.
class Body {
 public:
  explicit Body(const Region& region) : region_(region) {}

  // The operation of this name that makes the value; null where another one does.
  const Operation* find(ValueId value, std::string_view name, std::size_t operands) const {
    for (const Operation& operation : region_.operations)
      if (operation.results.size() == 1 && operation.results[0] == value)
        return operation.name == name && operation.operands.size() == operands ? &operation : nullptr;
    return nullptr;
  }

  bool isSelect(ValueId value, ValueId condition, ValueId a, ValueId b) const {
    const Operation* found = find(value, "select", 3);
    return found && found->operands == std::vector<ValueId>{condition, a, b};
  }

  bool isCompare(ValueId value, std::string_view direction, ValueId a, ValueId b) const {
    const Operation* found = find(value, "compare", 2);
    const auto* stated = found ? attributeAs<Enumerated>(found->attributes, "comparison_direction") : nullptr;
    return stated && stated->name == direction && found->operands == std::vector<ValueId>{a, b};
  }

  // Whether the two operands are such, in this order.
  template <class First, class Second>
  bool isBoth(ValueId value, std::string_view name, First first, Second second) const {
    const Operation* found = find(value, name, 2);
    return found && first(found->operands[0]) && second(found->operands[1]);
  }

 private:
  const Region& region_;
};

bool countsAlong(Value positions, std::int64_t axis) {
  auto iota = positions.getDefiningOp<ir::IotaOp>();
  return iota && static_cast<std::int64_t>(iota.getAxis()) == axis;
}

}  // namespace

std::optional<ir::ReduceKind> argKindOf(const Region& region) {
  if (region.arguments.size() != 4 || region.operations.empty()) return std::nullopt;
  const Operation& last = region.operations.back();
  if (last.operands.size() != 2) return std::nullopt;
  const ValueId a = region.arguments[0], first = region.arguments[1];
  const ValueId b = region.arguments[2], second = region.arguments[3];
  const Body body(region);
  const Operation* value = body.find(last.operands[0], "select", 3);
  const Operation* position = body.find(last.operands[1], "select", 3);
  if (!value || !position) return std::nullopt;
  const ValueId wins = value->operands[0], takes = position->operands[0];
  const auto isTie = [&](ValueId one) {
    return body.isBoth(
        one, "and", [&](ValueId x) { return body.isCompare(x, "EQ", a, b); },
        [&](ValueId x) { return body.isCompare(x, "LT", first, second); });
  };
  if (!body.isSelect(last.operands[0], wins, a, b) ||
      !body.isSelect(last.operands[1], takes, first, second) ||
      !body.isBoth(takes, "or", [&](ValueId x) { return x == wins; }, isTie))
    return std::nullopt;
  for (const auto& [direction, kind] :
       {std::pair("GT", ir::ReduceKind::Max), std::pair("LT", ir::ReduceKind::Min)}) {
    const auto isBetter = [&](ValueId x) { return body.isCompare(x, direction, a, b); };
    const auto isNan = [&](ValueId x) { return body.isCompare(x, "NE", a, a); };
    // Integers have no NaN to ask for.
    if (isBetter(wins) || body.isBoth(wins, "or", isBetter, isNan)) return kind;
  }
  return std::nullopt;
}

Result<Values> argReduced(OperationContext& op, ir::ReduceKind kind, llvm::ArrayRef<Value> inputs,
                          llvm::ArrayRef<Value> starts, std::int64_t axis) {
  const auto zero = frontend::GraphBuilder::constantScalar(starts[1]);
  const Combine combine = kind == ir::ReduceKind::Max ? Combine::kMax : Combine::kMin;
  const mlir::Type element = elementOf(inputs[0]);
  if (!zero || *zero != 0 || !isNeutral(op, combine, starts[0]) || !countsAlong(inputs[1], axis) ||
      element.getIntOrFloatBitWidth() < 8)
    return Values();
  KILN_ASSIGN(Value position, op.argReduce(kind, inputs[0], axis, /*last=*/false));
  KILN_ASSIGN(position, op.cast(position, elementOf(inputs[1])));
  KILN_ASSIGN(Value value, op.reduce(kind, inputs[0], {axis}, /*keep=*/false));
  return Values{value, position};
}

}  // namespace kiln::stablehlo
