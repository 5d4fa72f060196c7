// Windows that hold everything before an element, or behind it.
#include "compiler_core/frontend/stablehlo/operations/shape.h"
#include "compiler_core/frontend/stablehlo/operations/window.h"

namespace kiln::stablehlo {
namespace {

// What the function that a custom call names does with two scalars.
Combine calledCombine(OperationContext& op) {
  const Attribute* called = op.attribute("called_computations");
  const auto* list = called ? std::get_if<std::vector<Attribute>>(&called->value) : nullptr;
  const auto* name = list && list->size() == 1 ? std::get_if<SymbolName>(&list->front().value) : nullptr;
  const Region* body = name ? op.functionBody(name->name) : nullptr;
  return body ? combineOf(op, *body) : Combine::kOther;
}

}  // namespace

std::optional<Running> runningOf(llvm::ArrayRef<Dim> shape, llvm::ArrayRef<Dim> sizes,
                                 llvm::ArrayRef<Dim> low, llvm::ArrayRef<Dim> high) {
  std::optional<Running> running;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dim most = shape[i] - 1;
    if (sizes[i] == Dim(1) && low[i] == Dim(0) && high[i] == Dim(0)) continue;
    const bool before = low[i] == most && high[i] == Dim(0);
    const bool behind = low[i] == Dim(0) && high[i] == most;
    if (running || !(sizes[i] == shape[i]) || !(before || behind)) return std::nullopt;
    running = {i, behind};
  }
  return running;
}

Result<Value> cumulated(OperationContext& op, const Running& running, Combine combine, Value input) {
  if (combine != Combine::kAdd && combine != Combine::kMul) return Value();
  if (elementOf(input).getIntOrFloatBitWidth() < 8) return Value();
  return op.cumulative(combine == Combine::kAdd ? ir::ReduceKind::Sum : ir::ReduceKind::Prod, input,
                       static_cast<std::int64_t>(running.axis), /*exclusive=*/false, running.isReverse);
}

Result<Values> dynamicReduceWindow(OperationContext& op) {
  constexpr std::size_t kOperands = 7;
  if (op.operandCount() != kOperands || op.resultCount() != 1)
    return unserved("windows of a size that is an operand are served for one tensor only");
  const Value input = op.operand(0), init = op.operand(1);
  const Shape shape = dimsOf(input);
  KILN_ASSIGN(const Shape sizes, sizesIn(op, 2, "the sizes of the windows", shape.size()));
  Shape steps;
  for (std::size_t i : {3, 4, 5}) {
    KILN_ASSIGN(const Shape some, sizesIn(op, i, "the strides and dilations", shape.size()));
    llvm::append_range(steps, some);
  }
  KILN_ASSIGN(const Shape padding, sizesIn(op, 6, "the padding", 2 * shape.size()));
  Shape low, high;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    low.push_back(padding[2 * i]);
    high.push_back(padding[2 * i + 1]);
  }
  const Combine combine = calledCombine(op);
  const bool isPlain = llvm::all_of(steps, [](const Dim& step) { return step == Dim(1); });
  const auto running = isPlain ? runningOf(shape, sizes, low, high) : std::nullopt;
  if (running && isNeutral(op, combine, init)) {
    KILN_ASSIGN(Value result, cumulated(op, *running, combine, input));
    if (result) return Values{result};
  }
  return unserved(
      "windows of a size that is an operand are served for running sums and products over a whole dimension");
}

}  // namespace kiln::stablehlo
