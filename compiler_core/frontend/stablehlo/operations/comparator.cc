#include "compiler_core/frontend/stablehlo/operations/comparator.h"

#include <algorithm>

namespace kiln::stablehlo {
namespace {

constexpr int kMaxDepth = 64;

bool isSame(const Attribute& a, const Attribute& b) {
  if (a.value.index() != b.value.index()) return false;
  if (const auto* literal = std::get_if<Literal>(&a.value)) {
    const Literal& other = std::get<Literal>(b.value);
    return literal->type == other.type && std::ranges::equal(literal->bytes, other.bytes);
  }
  if (const auto* name = std::get_if<Enumerated>(&a.value))
    return name->name == std::get<Enumerated>(b.value).name;
  if (const auto* number = std::get_if<std::int64_t>(&a.value))
    return *number == std::get<std::int64_t>(b.value);
  return false;
}

class Comparator {
 public:
  explicit Comparator(const Region& region) : region_(region) {}

  std::vector<SortKey> keys() const {
    std::vector<SortKey> found;
    if (region_.operations.empty() || region_.operations.back().operands.size() != 1) return {};
    return collect(region_.operations.back().operands[0], found, 0) ? found : std::vector<SortKey>();
  }

 private:
  const Operation* definition(ValueId value) const {
    for (const Operation& operation : region_.operations)
      if (operation.results.size() == 1 && operation.results[0] == value) return &operation;
    return nullptr;
  }
  const Operation* definition(ValueId value, std::string_view name, std::size_t operands) const {
    const Operation* found = definition(value);
    return found && found->name == name && found->operands.size() == operands ? found : nullptr;
  }
  static std::string_view enumerated(const Operation& operation, std::string_view name) {
    const auto found = operation.attributes.find(name);
    const auto* value =
        found == operation.attributes.end() ? nullptr : std::get_if<Enumerated>(&found->second.value);
    return value ? std::string_view(value->name) : std::string_view();
  }

  // Whether `b` is of the second elements what `a` is of the first.
  bool isMirrored(ValueId a, ValueId b, int depth) const {
    if (depth > kMaxDepth) return false;
    const auto place = std::ranges::find(region_.arguments, a);
    if (place != region_.arguments.end()) {
      const auto index = static_cast<std::size_t>(place - region_.arguments.begin());
      return index % 2 == 0 && index + 1 < region_.arguments.size() && region_.arguments[index + 1] == b;
    }
    const Operation *first = definition(a), *second = definition(b);
    if (!first || !second)
      return a == b && !first && std::ranges::find(region_.arguments, b) == region_.arguments.end();
    if (first->name != second->name || first->operands.size() != second->operands.size() ||
        !first->regions.empty() || first->attributes.size() != second->attributes.size())
      return false;
    for (const auto& [name, attribute] : first->attributes) {
      const auto other = second->attributes.find(name);
      if (other == second->attributes.end() || !isSame(attribute, other->second)) return false;
    }
    for (std::size_t i = 0; i < first->operands.size(); ++i)
      if (!isMirrored(first->operands[i], second->operands[i], depth + 1)) return false;
    return true;
  }

  bool collect(ValueId value, std::vector<SortKey>& keys, int depth) const {
    if (depth > kMaxDepth) return false;
    if (const Operation* compare = definition(value, "compare", 2)) {
      const std::string_view direction = enumerated(*compare, "comparison_direction");
      if (direction != "LT" && direction != "GT") return false;
      if (!isMirrored(compare->operands[0], compare->operands[1], 0)) return false;
      keys.push_back(
          {compare->operands[0], direction == "GT", enumerated(*compare, "compare_type") == "TOTALORDER"});
      return true;
    }
    const Operation* either = definition(value, "or", 2);
    const Operation* both = either ? definition(either->operands[1], "and", 2) : nullptr;
    const Operation* equal = both ? definition(both->operands[0], "compare", 2) : nullptr;
    if (!equal || enumerated(*equal, "comparison_direction") != "EQ") return false;
    if (!definition(either->operands[0], "compare", 2)) return false;
    if (!collect(either->operands[0], keys, depth + 1)) return false;
    // What is found equal must be what was compared.
    if (!isMirrored(equal->operands[0], equal->operands[1], 0) ||
        !isEqual(equal->operands[0], keys.back().value))
      return false;
    return collect(both->operands[1], keys, depth + 1);
  }

  // Whether both are the same function of the same values, written twice or once.
  bool isEqual(ValueId a, ValueId b, int depth = 0) const {
    if (a == b) return true;
    if (depth > kMaxDepth) return false;
    const Operation *first = definition(a), *second = definition(b);
    if (!first || !second || first->name != second->name || !first->regions.empty() ||
        first->operands.size() != second->operands.size() ||
        first->attributes.size() != second->attributes.size())
      return false;
    for (const auto& [name, attribute] : first->attributes) {
      const auto other = second->attributes.find(name);
      if (other == second->attributes.end() || !isSame(attribute, other->second)) return false;
    }
    for (std::size_t i = 0; i < first->operands.size(); ++i)
      if (!isEqual(first->operands[i], second->operands[i], depth + 1)) return false;
    return true;
  }

  const Region& region_;
};

}  // namespace

std::vector<SortKey> sortKeysOf(const Region& comparator) {
  return Comparator(comparator).keys();
}

}  // namespace kiln::stablehlo
