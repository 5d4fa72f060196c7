#include "manifest/spec/partition_rules.h"

#include <algorithm>

#include "manifest/base/glob.h"
#include "manifest/base/nearest.h"
#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"

namespace kiln {
namespace {

Error notUtf8(const std::string& option, const std::string& text) {
  return {
      Code::kInvalidArgument, option + " " + inQuotes(text) + " is no UTF-8, as the names of models are", {}};
}

Result<std::vector<PlacementRule>> parsePlacements(const char* option,
                                                   const std::vector<std::string>& texts) {
  std::vector<PlacementRule> rules;
  for (const std::string& text : texts) {
    const std::size_t cut = text.rfind('=');
    if (cut == std::string::npos || cut == 0 || cut + 1 == text.size())
      return fail(Code::kInvalidArgument, std::string(option) + " " + inQuotes(text.substr(0, 200)) +
                                              " is no PATTERN=TARGET, such as op:Softmax=cpu:x86-64-v3");
    if (!isUtf8(text)) return fail(notUtf8(option, text));
    rules.push_back({text.substr(0, cut), text.substr(cut + 1)});
  }
  return rules;
}

Status checkTargets(const std::vector<PlacementRule>& rules, const char* what,
                    std::span<const std::string> targets) {
  std::string known;
  for (const std::string& target : targets) known += (known.empty() ? "" : ", ") + target;
  for (const PlacementRule& rule : rules)
    if (std::ranges::find(targets, rule.target) == targets.end())
      return fail(Code::kInvalidArgument, std::string(what) + " " +
                                              inQuotes(rule.pattern + "=" + rule.target) +
                                              " names a target that is not compiled for; there is " + known +
                                              orNearest(rule.target, {targets.begin(), targets.end()}));
  return {};
}

}  // namespace

Result<PartitionRules> parseRules(const PartitionOptionTexts& texts) {
  PartitionRules rules;
  KILN_ASSIGN(rules.affinities, parsePlacements("--affinity", texts.affinities));
  KILN_ASSIGN(rules.exclusions, parsePlacements("--exclude", texts.exclusions));
  if (texts.fallback != "fail" && texts.fallback != "cpu")
    return fail(Code::kInvalidArgument, "--fallback " + inQuotes(texts.fallback) + ": give fail or cpu");
  for (const std::string& name : texts.fallbackOperators)
    if (!isUtf8(name)) return fail(notUtf8("--fallback-allow", name));
  rules.fallbackOperators = texts.fallbackOperators;
  std::ranges::sort(rules.fallbackOperators);
  const auto repeated = std::ranges::unique(rules.fallbackOperators);
  rules.fallbackOperators.erase(repeated.begin(), repeated.end());
  if (texts.fallbackPermille < 0 || texts.fallbackPermille > 1000)
    return fail(Code::kInvalidArgument, "--fallback-permille is a number from 0 to 1000");
  rules.fallbackPermille = texts.fallbackPermille;
  if (texts.fallback == "fail" && (!rules.fallbackOperators.empty() || rules.fallbackPermille != 1000))
    return fail(Code::kInvalidArgument,
                "limits of the fallback are given, but nothing may fall back; give --fallback cpu");
  return rules;
}

bool matches(std::string_view pattern, std::string_view node, std::string_view op) {
  if (pattern.starts_with("op:")) return !op.empty() && globMatches(pattern.substr(3), op);
  return globMatches(pattern, node);
}

Status checkRules(const PartitionRules& rules, std::span<const std::string> targets) {
  KILN_TRY(checkTargets(rules.affinities, "affinity", targets));
  return checkTargets(rules.exclusions, "exclusion", targets);
}

}  // namespace kiln
