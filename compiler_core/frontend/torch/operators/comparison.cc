// Comparisons, logic and choice, element by element.
#include <limits>

#include "compiler_core/frontend/torch/operators/operators.h"
#include "compiler_core/frontend/torch/operators/promotion.h"

namespace kiln::torch {
namespace {

using ir::BinaryKind;
using ir::CompareKind;

struct Pair {
  Term left, right;
};
Result<Pair> operands(NodeContext& node) {
  KILN_ASSIGN(const mlir::Type type, promotedType(node, {"self", "other"}));
  KILN_ASSIGN(const Value left, node.operand("self", type));
  KILN_ASSIGN(const Value right, node.operand("other", type));
  return Pair{{node, left}, {node, right}};
}

template <CompareKind kind>
Result<Values> compare(NodeContext& node) {
  KILN_ASSIGN(const Pair pair, operands(node));
  return one(pair.left.compare(kind, pair.right));
}

Result<Values> differs(NodeContext& node) {
  KILN_ASSIGN(const Pair pair, operands(node));
  return one(!(pair.left == pair.right));
}

// Whatever is not 0 is true.
Result<Term> truth(NodeContext& node, std::string_view name) {
  KILN_ASSIGN(const Value value, node.tensor(name));
  const Term x(node, value);
  return elementOf(value).isInteger(1) ? x : !(x == 0.0);
}

template <BinaryKind kind>
Result<Values> logical(NodeContext& node) {
  KILN_ASSIGN(const Term a, truth(node, "self"));
  KILN_ASSIGN(const Term b, truth(node, "other"));
  return one(a.binary(kind, b));
}

Result<Values> logicalNot(NodeContext& node) {
  KILN_ASSIGN(const Term a, truth(node, "self"));
  return one(!a);
}

Result<Values> isNan(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  return one(!(x == x));
}

Result<Values> isInfinite(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  if (!isFloat(*x.value())) return one(!(x == x));
  return one(x.abs() == std::numeric_limits<double>::infinity());
}

Result<Values> isFinite(NodeContext& node) {
  KILN_ASSIGN(const Term x, node.term("self"));
  if (!isFloat(*x.value())) return one(x == x);
  return one(x.abs() < std::numeric_limits<double>::infinity());
}

Result<Values> where(NodeContext& node) {
  KILN_ASSIGN(const Term condition, truth(node, "condition"));
  KILN_ASSIGN(const mlir::Type type, node.outputType());
  KILN_ASSIGN(const Value yes, node.operand("self", type));
  KILN_ASSIGN(const Value no, node.operand("other", type));
  return one(condition.select(Term(node, yes), Term(node, no)));
}

Result<Values> maskedFill(NodeContext& node) {
  KILN_ASSIGN(const Term mask, truth(node, "mask"));
  KILN_ASSIGN(const Value self, node.tensor("self"));
  KILN_ASSIGN(const Value value, node.operand("value", elementOf(self)));
  return one(mask.select(Term(node, value), Term(node, self)));
}

// A NaN stays one; a lower bound above the upper one gives the upper one.
Result<Value> bounded(NodeContext& node, std::string_view low, std::string_view high) {
  KILN_ASSIGN(const mlir::Type type, node.outputType());
  KILN_ASSIGN(Value x, node.operand("self", type));
  if (node.has(low)) {
    KILN_ASSIGN(const Value bound, node.operand(low, type));
    KILN_ASSIGN(x, node.binary(BinaryKind::Max, x, bound));
  }
  if (node.has(high)) {
    KILN_ASSIGN(const Value bound, node.operand(high, type));
    KILN_ASSIGN(x, node.binary(BinaryKind::Min, x, bound));
  }
  return x;
}

Result<Values> clamp(NodeContext& node) {
  return one(bounded(node, "min", "max"));
}
Result<Values> clampMin(NodeContext& node) {
  return one(bounded(node, "min", {}));
}
Result<Values> clampMax(NodeContext& node) {
  return one(bounded(node, {}, "max"));
}

constexpr Row kRows[] = {
    {"clamp", clamp},
    {"clamp_max", clampMax},
    {"clamp_min", clampMin},
    {"eq", compare<CompareKind::Eq>},
    {"ge", compare<CompareKind::Ge>},
    {"gt", compare<CompareKind::Gt>},
    {"isfinite", isFinite},
    {"isinf", isInfinite},
    {"isnan", isNan},
    {"le", compare<CompareKind::Le>},
    {"logical_and", logical<BinaryKind::And>},
    {"logical_not", logicalNot},
    {"logical_or", logical<BinaryKind::Or>},
    {"logical_xor", logical<BinaryKind::Xor>},
    {"lt", compare<CompareKind::Lt>},
    {"masked_fill", maskedFill},
    {"ne", differs},
    {"where", where},
};

}  // namespace

std::span<const Row> comparisonRows() {
  return kRows;
}

}  // namespace kiln::torch
