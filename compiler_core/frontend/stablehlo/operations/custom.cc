// custom_call, by the names of its targets.
#include "compiler_core/frontend/stablehlo/operations/operations.h"
#include "compiler_core/frontend/stablehlo/operations/sort.h"

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

struct Target {
  std::string_view name;
  ImportFunction import;
};
constexpr Target kTargets[] = {
    {"LayoutConstraint", passThrough},
    {"Sharding", passThrough},
    {"annotate_device_placement", passThrough},
    {"mhlo.topk", mhloTopK},
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
  static constexpr Row kRows[] = {{"custom_call", customCall, 0}};
  return kRows;
}

}  // namespace kiln::stablehlo
