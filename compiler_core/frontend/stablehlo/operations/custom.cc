// custom_call, by the names of its targets.
#include "compiler_core/frontend/stablehlo/operations/operations.h"
#include "compiler_core/frontend/stablehlo/operations/sort.h"
#include "compiler_core/frontend/stablehlo/operations/window.h"

namespace kiln::stablehlo {
namespace {

// Where values live and how they are laid out is the compiler's to choose.
Result<Values> passThrough(OperationContext& op) {
  if (op.operandCount() != op.resultCount()) return invalid("results and operands differ in number");
  return Values(op.operands());
}

// k and largest, in the dictionary that MHLO's operations were written with.
Result<Values> mhloTopK(OperationContext& op) {
  const Attribute* held = op.attribute("mhlo.attributes");
  const auto* attributes = held ? std::get_if<Attributes>(&held->value) : nullptr;
  if (!attributes || op.operandCount() != 1) return invalid("mhlo.topk without its attributes");
  const auto count = attributes->find("k"), largest = attributes->find("largest");
  const auto* k = count == attributes->end() ? nullptr : std::get_if<std::int64_t>(&count->second.value);
  if (!k) return invalid("mhlo.topk without k");
  const auto* isLargest = largest == attributes->end() ? nullptr : std::get_if<bool>(&largest->second.value);
  return topK(op, *k, !isLargest || *isLargest);
}

// "{0}" in the text of an assertion is the first of the values that it names.
std::string withValues(OperationContext& op, llvm::StringRef text) {
  constexpr std::size_t kMaxText = 2048;
  std::string result;
  while (!text.empty() && result.size() < kMaxText) {
    const auto [before, behind] = text.split('{');
    result += before;
    if (before.size() == text.size()) break;
    const auto [number, rest] = behind.split('}');
    std::size_t index = 0;
    const bool isPlace = rest.size() + number.size() < behind.size() && !number.getAsInteger(10, index) &&
                         index + 1 < op.operandCount();
    const auto value =
        isPlace ? frontend::GraphBuilder::symbolicIntegers(op.operand(index + 1)) : std::nullopt;
    if (value && value->size() == 1) {
      result += op.describe(value->front());
      if (const auto range = op.rangeOf(value->front()); range && !value->front().isStatic())
        result += " (" + std::to_string(range->min) + " to " + std::to_string(range->max) + ")";
      text = rest;
    } else {
      result += '{';
      text = behind;
    }
  }
  return result.substr(0, kMaxText);
}

// JAX's condition on the sizes of arguments. It holds for every size that the profiles let in, or they are
// refused, so that a run has nothing left to check but its profile.
Result<Values> shapeAssertion(OperationContext& op) {
  if (op.operandCount() == 0 || !elementOf(op.operand(0)).isInteger(1) || op.resultCount() != 0)
    return invalid("an assertion has a condition of i1 and no result");
  const Attribute* message = op.attribute("error_message");
  const auto* text = message ? std::get_if<std::string>(&message->value) : nullptr;
  const auto condition = frontend::GraphBuilder::symbolicIntegers(op.operand(0));
  if (condition && condition->size() == 1 && condition->front() == Dim(1)) return Values();
  const std::string why = text ? withValues(op, *text) : "it has no message";
  if (condition && condition->size() == 1 && condition->front() == Dim(0))
    return fail(Code::kFailedPrecondition,
                "the model asserts against the sizes that the profile gives: " + why);
  return fail(
      Code::kFailedPrecondition,
      "the model asserts what not every size of the profile is known to keep to; give ranges that do, "
      "and the number that sizes are a multiple of (min:opt:max:multiple): " +
          why);
}

struct Target {
  std::string_view name;
  ImportFunction import;
};
constexpr Target kTargets[] = {
    {"LayoutConstraint", passThrough},          {"Sharding", passThrough},
    {"annotate_device_placement", passThrough}, {"mhlo.topk", mhloTopK},
    {"shape_assertion", shapeAssertion},        {"stablehlo.dynamic_reduce_window", dynamicReduceWindow},
};

Result<Values> customCall(OperationContext& op) {
  const Attribute* name = op.attribute("call_target_name");
  const auto* text = name ? std::get_if<std::string>(&name->value) : nullptr;
  if (!text) return invalid("a custom call without the name of its target");
  for (const Target& target : kTargets)
    if (target.name == *text) return target.import(op);
  return unserved("the custom call '" + *text + "' is not served");
}

}  // namespace

bool isServedTarget(std::string_view target) {
  return std::ranges::find(kTargets, target, &Target::name) != std::end(kTargets);
}

std::span<const Row> customRows() {
  static constexpr Row kRows[] = {{"custom_call", customCall, 0, 0, false, true}};
  return kRows;
}

}  // namespace kiln::stablehlo
