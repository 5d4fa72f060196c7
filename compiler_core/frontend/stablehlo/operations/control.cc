// while, if and case.
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {
namespace {

using frontend::GraphBuilder;

std::optional<bool> knownCondition(Value value) {
  const auto known = GraphBuilder::constantScalar(value);
  return known ? std::optional(*known != 0) : std::nullopt;
}

// A branch sees the values around it and has no arguments.
GraphBuilder::Yielded branch(OperationContext& op, const Region& region) {
  KILN_ASSIGN(Values made, op.run(region, {}));
  if (made.size() != op.resultCount()) return invalid("a branch returns another number of values");
  return std::optional(made);
}

Result<Values> choose(OperationContext& op, Value condition,
                      llvm::function_ref<GraphBuilder::Yielded()> onTrue,
                      llvm::function_ref<GraphBuilder::Yielded()> onFalse) {
  if (!elementOf(condition).isInteger(1) || !(ir::product(dimsOf(condition)) == Dim(1)))
    return invalid("the condition is no scalar of i1");
  if (const auto known = knownCondition(condition)) {
    KILN_ASSIGN(std::optional<Values> only, *known ? onTrue() : onFalse());
    return *only;
  }
  KILN_ASSIGN(std::optional<Values> results, op.conditional(condition, onTrue, onFalse));
  return *results;
}

Result<Values> ifElse(OperationContext& op) {
  return choose(
      op, op.operand(0), [&] { return branch(op, op.region(0)); }, [&] { return branch(op, op.region(1)); });
}

// The branches from `first` on; an index that is none of them takes the last one.
Result<Values> caseFrom(OperationContext& op, std::size_t first) {
  const auto& branches = op.operation().regions;
  if (first + 1 == branches.size()) {
    KILN_ASSIGN(std::optional<Values> only, branch(op, branches[first]));
    return *only;
  }
  KILN_ASSIGN(Value isHere, (op.term(0) == static_cast<double>(first)).value());
  return choose(
      op, isHere, [&] { return branch(op, branches[first]); },
      [&]() -> GraphBuilder::Yielded {
        KILN_ASSIGN(Values others, caseFrom(op, first + 1));
        return std::optional(others);
      });
}

Result<Values> caseOf(OperationContext& op) {
  constexpr std::size_t kMaxBranches = 64;  // one inside of the other
  const std::size_t count = op.operation().regions.size();
  if (count == 0) return invalid("a case has one branch or more");
  if (count > kMaxBranches)
    return unserved("a case of " + std::to_string(count) + " branches is not served; at most " +
                    std::to_string(kMaxBranches) + " are");
  return caseFrom(op, 0);
}

Result<Value> conditionOf(OperationContext& op, const Values& values) {
  KILN_ASSIGN(Values made, op.run(op.region(0), values));
  if (made.size() != 1 || !elementOf(made[0]).isInteger(1)) return invalid("the condition is no i1");
  return made[0];
}

Result<Values> whileLoop(OperationContext& op) {
  const Region& body = op.region(1);
  const std::size_t count = op.operandCount();
  if (body.arguments.size() != count || op.region(0).arguments.size() != count || body.operations.empty() ||
      body.operations.back().operands.size() != count)
    return invalid("operands, arguments and results differ in number");
  // What the body hands on as it came is not carried: weights stay weights.
  std::vector<std::size_t> changing;
  Values carried;
  for (std::size_t i = 0; i < count; ++i) {
    if (body.operations.back().operands[i] == body.arguments[i]) continue;
    changing.push_back(i);
    carried.push_back(op.operand(i));
  }
  Values all = op.operands();
  KILN_ASSIGN(Value condition, conditionOf(op, all));
  if (const auto known = knownCondition(condition); known && !*known) return all;
  auto step = [&](Value, const Values& arguments) -> GraphBuilder::Yielded {
    Values values = op.operands();
    for (std::size_t i = 0; i < changing.size(); ++i) values[changing[i]] = arguments[i];
    KILN_ASSIGN(Values made, op.run(body, values));
    for (std::size_t i = 0; i < changing.size(); ++i) {
      if (made[changing[i]].getType() != arguments[i].getType())
        return invalid("a value changes its type from one iteration to the next");
      values[changing[i]] = made[changing[i]];
    }
    KILN_ASSIGN(Value next, conditionOf(op, values));
    Values yields{next};
    for (std::size_t place : changing) yields.push_back(values[place]);
    return std::optional(yields);
  };
  KILN_ASSIGN(std::optional<Values> results, op.loop({{}, condition, 0}, carried, step));
  for (std::size_t i = 0; i < changing.size(); ++i) all[changing[i]] = (*results)[i];
  return all;
}

}  // namespace

std::span<const Row> controlRows() {
  static constexpr Row kRows[] = {{"case", caseOf, 1, kAnyRegions, false, true},
                                  {"if", ifElse, 1, 2, false, true},
                                  {"while", whileLoop, 0, 2, false, true}};
  return kRows;
}

}  // namespace kiln::stablehlo
