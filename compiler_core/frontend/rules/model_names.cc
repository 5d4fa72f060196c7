#include "compiler_core/frontend/rules/model_names.h"

#include <algorithm>

#include "manifest/base/glob.h"
#include "manifest/base/nearest.h"
#include "manifest/base/printable.h"

namespace kiln::frontend {
namespace {

constexpr std::size_t kMaxNear = 4096;  // names that a mistyped one is held against

template <class List>
std::vector<std::string> firstOf(const List& names) {
  return {names.begin(),
          std::next(names.begin(), static_cast<std::ptrdiff_t>(std::min(names.size(), kMaxNear)))};
}

bool hasOperator(const ModelNames& names, std::string_view pattern) {
  return globMatches(pattern, "") || std::ranges::any_of(names.operators, [&](const std::string& name) {
           return globMatches(pattern, name);
         });
}

bool hasNode(const ModelNames& names, std::string_view pattern) {
  if (globMatches(pattern, "")) return true;
  if (std::ranges::any_of(names.nodes, [&](const std::string& name) { return globMatches(pattern, name); }))
    return true;
  const std::string_view head = pattern.substr(0, pattern.find('*'));
  const std::string_view tail = pattern.substr(pattern.rfind('*') + 1);
  return std::ranges::any_of(names.outer,
                             [&](const std::string& name) {
                               const std::string begin = name + "/";
                               return begin.starts_with(head) || head.starts_with(begin);
                             }) &&
         std::ranges::any_of(names.inner, [&](const std::string& name) {
           const std::string end = "/" + name;
           return end.ends_with(tail) || tail.ends_with(end);
         });
}

std::string unknownOperator(const ModelNames& names, std::string_view name) {
  return "the model has no operator " + inQuotes(name) + orNearest(name, firstOf(names.operators));
}

}  // namespace

std::vector<std::string> unknownNames(const ModelNames& names, const PartitionRules& rules) {
  constexpr std::string_view kOperator = "op:";
  std::vector<std::string> texts;
  const auto check = [&](const char* option, const std::vector<PlacementRule>& placements) {
    for (const PlacementRule& rule : placements) {
      const std::string place = std::string(option) + " " + inQuotes(rule.pattern + "=" + rule.target) + ": ";
      const std::string_view pattern = rule.pattern;
      if (pattern.starts_with(kOperator)) {
        const std::string_view name = pattern.substr(kOperator.size());
        if (!hasOperator(names, name)) texts.push_back(place + unknownOperator(names, name));
      } else if (!hasNode(names, pattern)) {
        // An operator without "op:" is the likely mistake.
        texts.push_back(place + "the model has no node " + inQuotes(pattern) +
                        (hasOperator(names, pattern)
                             ? "; of an operator it is " + inQuotes("op:" + rule.pattern)
                             : orNearest(pattern, firstOf(names.nodes))));
      }
    }
  };
  check("--affinity", rules.affinities);
  check("--exclude", rules.exclusions);
  for (const std::string& name : rules.fallbackOperators)
    if (!names.operators.contains(name)) texts.push_back("--fallback-allow: " + unknownOperator(names, name));
  return texts;
}

}  // namespace kiln::frontend
