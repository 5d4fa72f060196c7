#include "signing/policy/policy.h"

#include <algorithm>
#include <set>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "manifest/spec/target.h"
#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxPolicyBytes = 1u << 20;

Result<std::vector<std::string>> readList(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(std::vector<std::string> list, reader.strings(name));
  if (list.empty()) return badMember(reader.path(name), "must name what is accepted, or \"*\"");
  return list;
}

RuleResult oneOf(const char* rule, const std::vector<std::string>& accepted, const std::string& value) {
  bool any = std::find(accepted.begin(), accepted.end(), "*") != accepted.end();
  if (any || std::find(accepted.begin(), accepted.end(), value) != accepted.end())
    return {true, rule, "satisfied by " + printable(value)};
  std::string list;
  for (const std::string& one : accepted) list += (list.empty() ? "" : ", ") + one;
  return {false, rule, printable(value) + " is not accepted; accepted: " + list};
}

// A program for several targets ("a,b") wants each of them accepted.
RuleResult allOf(const char* rule, const std::vector<std::string>& accepted,
                 const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) {
    RuleResult one = oneOf(rule, accepted, value);
    if (!one.ok) return one;
    list += (list.empty() ? "" : ",") + printable(value);
  }
  return {true, rule, "satisfied by " + list};
}

RuleResult atLeast(const char* rule, int wanted, const std::set<std::string>& found) {
  std::string list;
  for (const std::string& one : found) list += (list.empty() ? "" : ", ") + printable(one);
  std::string counted = std::to_string(found.size()) + " of " + std::to_string(wanted) + ": " + list;
  if (static_cast<int>(found.size()) >= wanted) return {true, rule, "satisfied by " + counted};
  return {false, rule, counted};
}

// The latest check decides; without the rule it is only told.
RuleResult checked(bool required, std::span<const CheckStatement> checks) {
  constexpr char kRule[] = "requireCheck";
  if (checks.empty())
    return {!required, kRule,
            required ? "the artifact is unchecked" : "not required; the artifact is unchecked"};
  const CheckStatement& last = *std::ranges::max_element(checks, {}, &CheckStatement::finishedOn);
  const std::string by = "check by " + printable(last.worker) + " at " + rfc3339(last.finishedOn);
  if (last.passed()) return {true, kRule, "satisfied by " + by};
  return {!required, kRule, (required ? "" : "not required; ") + by + " failed: " + last.failures()};
}

}  // namespace

Json Policy::toJson() const {
  Json json{{"apiVersion", "kiln/v1"},
            {"kind", "Policy"},
            {"name", name},
            {"allowDevelopment", allowDevelopment},
            {"builderIds", builderIds},
            {"minBuilders", minBuilders},
            {"minOperators", minOperators},
            {"targets", targets},
            {"toolchains", toolchains}};
  if (requireCheck) json["requireCheck"] = true;
  return json;
}

Result<Policy> Policy::parse(std::string_view text) {
  KILN_ASSIGN(Json json, parseStrictJson(text, {.bytes = kMaxPolicyBytes, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "policy"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "Policy"));
  Policy policy;
  KILN_ASSIGN(policy.name, reader.string("name"));
  KILN_ASSIGN(policy.allowDevelopment, reader.boolean("allowDevelopment"));
  KILN_ASSIGN(policy.builderIds, readList(reader, "builderIds"));
  KILN_ASSIGN(std::int64_t builders, reader.integer("minBuilders", 1, 16));
  policy.minBuilders = static_cast<int>(builders);
  KILN_ASSIGN(std::int64_t operators, reader.integer("minOperators", 1, builders));
  policy.minOperators = static_cast<int>(operators);
  KILN_ASSIGN(policy.targets, readList(reader, "targets"));
  KILN_ASSIGN(policy.toolchains, readList(reader, "toolchains"));
  for (const std::string& one : policy.toolchains)
    if (one != "*" && (!one.starts_with("sha256:") || !Digest::parse(one, 0)))
      return badMember(reader.path("toolchains"),
                       "must hold \"sha256:\" digests; a label can be re-pointed, a digest cannot");
  if (reader.has("requireCheck")) {
    KILN_ASSIGN(policy.requireCheck, reader.boolean("requireCheck"));
  }
  KILN_TRY(reader.finish());
  return policy;
}

Result<Policy> Policy::load(const std::string& path) {
  KILN_ASSIGN(std::string text, readTextFile(path, kMaxPolicyBytes));
  auto policy = parse(text);
  if (!policy) return fail(policy.error().in(path));
  return policy;
}

std::vector<RuleResult> evaluate(const Policy& policy, const PolicyFacts& facts) {
  const Provenance& provenance = *facts.provenance;
  auto parameter = [&](const char* name) {
    auto found = provenance.externalParameters.find(name);
    return found == provenance.externalParameters.end() ? std::string() : found->second;
  };
  std::set<std::string> workers, operators;
  for (const Builder& builder : provenance.builders) {
    workers.insert(builder.worker + " (" + builder.operatorName + ")");
    operators.insert(builder.operatorName);
  }
  std::vector<RuleResult> out;
  if (!facts.developmentRoot)
    out.push_back({true, "allowDevelopment", "satisfied by a root that is not for development"});
  else if (policy.allowDevelopment)
    out.push_back(
        {true, "allowDevelopment", "satisfied: the root is marked development, which this policy allows"});
  else
    out.push_back({false, "allowDevelopment", "the root is marked development, which this policy refuses"});
  out.push_back(oneOf("builderIds", policy.builderIds, provenance.builderId));
  out.push_back(atLeast("minBuilders", policy.minBuilders, workers));
  out.push_back(atLeast("minOperators", policy.minOperators, operators));
  out.push_back(allOf("targets", policy.targets, targetNames(parameter("target"))));
  out.push_back(oneOf("toolchains", policy.toolchains, parameter("toolchain")));
  out.push_back(checked(policy.requireCheck, facts.checks));
  return out;
}

}  // namespace kiln::signing
