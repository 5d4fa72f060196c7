// cond_if and while_loop. Their bodies see the operands as arguments.
#include "compiler_core/frontend/dialects/tosa/rows.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

namespace kiln::dialects::tosa {
namespace {

using frontend::GraphBuilder;

GraphBuilder::Yielded body(OperationContext& op, mlir::Region& region, const Values& arguments) {
  KILN_ASSIGN(Values made, op.run(region, arguments));
  return std::optional(std::move(made));
}

Result<Value> scalarCondition(OperationContext& op, Value condition) {
  if (!elementOf(condition).isInteger(1)) return invalid("the condition is no i1");
  return op.reshape(condition, Dims{});
}

std::optional<bool> known(Value condition) {
  const auto value = GraphBuilder::constantScalar(condition);
  return value ? std::optional(*value != 0) : std::nullopt;
}

Result<Values> condIf(OperationContext& op) {
  auto branches = op.as<mlir::tosa::IfOp>();
  KILN_ASSIGN(const Value condition, scalarCondition(op, op.operand(0)));
  const Values arguments(llvm::drop_begin(op.operands()));
  auto onTrue = [&] { return body(op, branches.getThenGraph(), arguments); };
  auto onFalse = [&] { return body(op, branches.getElseGraph(), arguments); };
  const std::optional<bool> taken = known(condition);
  KILN_ASSIGN(const std::optional<Values> results,
              taken ? (*taken ? onTrue() : onFalse()) : op.conditional(condition, onTrue, onFalse));
  return *results;
}

Result<Value> conditionOf(OperationContext& op, const Values& values) {
  KILN_ASSIGN(const Values made, op.run(op.as<mlir::tosa::WhileOp>().getCondGraph(), values));
  if (made.size() != 1) return invalid("the condition is one value");
  return scalarCondition(op, made[0]);
}

Result<Values> whileLoop(OperationContext& op) {
  auto loop = op.as<mlir::tosa::WhileOp>();
  KILN_ASSIGN(const Value condition, conditionOf(op, op.operands()));
  if (const auto taken = known(condition); taken && !*taken) return op.operands();
  auto step = [&](Value, const Values& carried) -> GraphBuilder::Yielded {
    KILN_ASSIGN(Values made, op.run(loop.getBodyGraph(), carried));
    if (made.size() != carried.size()) return invalid("the body yields another number of values");
    for (auto [before, after] : llvm::zip_equal(carried, made))
      if (before.getType() != after.getType())
        return unserved("a value that changes its type from one iteration to the next is not served");
    KILN_ASSIGN(const Value next, conditionOf(op, made));
    made.insert(made.begin(), next);
    return std::optional(std::move(made));
  };
  KILN_ASSIGN(std::optional<Values> results, op.loop({{}, condition, 0}, op.operands(), step));
  results->truncate(op.operands().size());
  return *results;
}

}  // namespace

std::span<const Row> controlRows() {
  static constexpr Row kRows[] = {{"tosa.cond_if", condIf}, {"tosa.while_loop", whileLoop}};
  return kRows;
}

std::string_view whyMissing(std::string_view name) {
  if (name == "tosa.fft2d" || name == "tosa.rfft2d") return "Fourier transforms are not served";
  if (name.starts_with("tosa.variable")) return "variables, which outlive a run, are not served";
  if (name == "tosa.custom") return "operations of somebody's own are not served";
  if (name.ends_with("_block_scaled") || name.ends_with("_shape"))
    return "the operation is none of TOSA 1.0 and is not served";
  return "";
}

}  // namespace kiln::dialects::tosa
