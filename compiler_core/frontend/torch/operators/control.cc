// Operators that take graphs.
#include "compiler_core/frontend/torch/operators/operators.h"

namespace kiln::torch {
namespace {

// Their arguments have numbers for names.
constexpr std::string_view kPredicate = "0", kOnTrue = "1", kOnFalse = "2", kOperands = "3";
constexpr std::string_view kCondition = "0", kBody = "1", kCarried = "2", kUnchanged = "3";

using Yielded = frontend::GraphBuilder::Yielded;

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
  KILN_ASSIGN(const std::optional<Values> results,
              node.conditional(
                  flag, [&]() -> Yielded { return node.body(*onTrue, operands); },
                  [&]() -> Yielded { return node.body(*onFalse, operands); }));
  // What is not served inside has been noted.
  return results ? *results : Values(node.outputCount());
}

// Carried values go around while a graph on them, and on what does not change, says so; it is asked first.
Result<Values> whileLoop(NodeContext& node) {
  KILN_ASSIGN(const Graph* condition, node.graph(kCondition));
  KILN_ASSIGN(const Graph* body, node.graph(kBody));
  KILN_ASSIGN(const Values carried, node.tensors(kCarried));
  KILN_ASSIGN(const Values unchanged, node.tensors(kUnchanged));
  auto all = [&](const Values& now) {
    Values values(now);
    llvm::append_range(values, unchanged);
    return values;
  };
  if (llvm::is_contained(all(carried), Value())) return invalid("an operand is None");
  auto ask = [&](const Values& now) -> Yielded {
    KILN_ASSIGN(std::optional<Values> made, node.body(*condition, all(now)));
    if (made && (made->size() != 1 || rankOf(made->front()) != 0))
      return invalid("the condition is no scalar");
    if (made) {
      KILN_ASSIGN(made->front(), node.cast(made->front(), node.i1()));
    }
    return made;
  };
  KILN_ASSIGN(const std::optional<Values> first, ask(carried));
  if (!first) return Values(node.outputCount());
  auto step = [&](Value, const Values& now) -> Yielded {
    KILN_ASSIGN(std::optional<Values> made, node.body(*body, all(now)));
    if (!made) return made;
    if (made->size() != now.size()) return invalid("the body gives another number of values than it carries");
    for (std::size_t i = 0; i < now.size(); ++i)
      if ((*made)[i].getType() != now[i].getType())
        return invalid("a value changes its type from one iteration to the next");
    KILN_ASSIGN(const std::optional<Values> next, ask(*made));
    if (!next) return next;
    Values yields{next->front()};
    llvm::append_range(yields, *made);
    return std::optional(yields);
  };
  KILN_ASSIGN(const std::optional<Values> results, node.loop({{}, first->front(), 0}, carried, step));
  if (!results) return Values(node.outputCount());
  return Values(results->begin(), results->begin() + static_cast<std::ptrdiff_t>(carried.size()));
}

constexpr Row kRows[] = {
    {"higher_order.cond", cond},
    {"higher_order.while_loop", whileLoop},
};

}  // namespace

std::span<const Row> controlRows() {
  return kRows;
}

}  // namespace kiln::torch
