// Operators that take graphs.
#include "compiler_core/frontend/torch/operators/operators.h"

namespace kiln::torch {
namespace {

// Their arguments have numbers for names.
constexpr std::string_view kPredicate = "0", kOnTrue = "1", kOnFalse = "2", kOperands = "3";

// One of two graphs on the same operands.
Result<Values> cond(NodeContext& node) {
  if (!node.isTensor(kPredicate))
    return unserved("a condition that is no tensor is not served; export with one that is");
  KILN_ASSIGN(const Value predicate, node.tensor(kPredicate));
  KILN_ASSIGN(const Graph* onTrue, node.graph(kOnTrue));
  KILN_ASSIGN(const Graph* onFalse, node.graph(kOnFalse));
  KILN_ASSIGN(const Values operands, node.tensors(kOperands));
  for (Value operand : operands)
    if (!operand) return invalid("an operand is None");
  KILN_ASSIGN(const Value flag, node.cast(predicate, node.i1()));
  using Yielded = frontend::GraphBuilder::Yielded;
  KILN_ASSIGN(const std::optional<Values> results,
              node.conditional(
                  flag, [&]() -> Yielded { return node.body(*onTrue, operands); },
                  [&]() -> Yielded { return node.body(*onFalse, operands); }));
  // What is not served inside has been noted.
  return results ? *results : Values(node.outputCount());
}

constexpr Row kRows[] = {
    {"higher_order.cond", cond},
};

}  // namespace

std::span<const Row> controlRows() {
  return kRows;
}

}  // namespace kiln::torch
