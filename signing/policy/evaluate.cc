#include "signing/policy/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "manifest/base/printable.h"
#include "manifest/spec/target.h"
#include "signing/policy/check_rules.h"

namespace kiln::signing {
namespace {

bool accepts(const std::vector<std::string>& accepted, const std::string& value) {
  return std::ranges::any_of(accepted, [&](const std::string& one) { return one == "*" || one == value; });
}

std::string joined(const auto& values) {
  std::string out;
  for (const std::string& one : values) out += (out.empty() ? "" : ", ") + printable(one);
  return out;
}

RuleResult oneOf(const char* rule, const std::vector<std::string>& accepted, const std::string& value) {
  if (accepts(accepted, value)) return {true, rule, "satisfied by " + printable(value)};
  return {false, rule, printable(value) + " is not accepted; accepted: " + joined(accepted)};
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
  const std::string counted =
      std::to_string(found.size()) + " of " + std::to_string(wanted) + ": " + joined(found);
  if (static_cast<int>(found.size()) >= wanted) return {true, rule, "satisfied by " + counted};
  return {false, rule, counted};
}

RuleResult development(const Policy& policy, bool developmentRoot) {
  constexpr char kRule[] = "allowDevelopment";
  if (!developmentRoot) return {true, kRule, "satisfied by a root that is not for development"};
  if (policy.allowDevelopment)
    return {true, kRule, "satisfied: the root is marked development, which this policy allows"};
  return {false, kRule, "the root is marked development, which this policy refuses"};
}

std::string parameter(const Provenance& provenance, const char* name) {
  const auto found = provenance.externalParameters.find(name);
  return found == provenance.externalParameters.end() ? std::string() : found->second;
}

// Labels are "kiln-<version>+<component>...", each given once by a farm that signed the statement.
RuleResult toolchainVersion(const std::string& wanted, const std::string& label) {
  constexpr char kRule[] = "minToolchainVersion";
  const std::size_t dash = label.find('-'), plus = label.find('+');
  const auto version = dash == std::string::npos
                           ? std::nullopt
                           : parseVersion(std::string_view(label).substr(
                                 dash + 1, plus == std::string::npos ? plus : plus - dash - 1));
  if (!version) return {false, kRule, "the provenance states no toolchain label with a version"};
  if (*version >= *parseVersion(wanted)) return {true, kRule, "satisfied by " + printable(label)};
  return {false, kRule, printable(label) + " is older than " + wanted};
}

const Json* partitionStage(const PolicyFacts& facts) {
  if (!facts.manifest || !facts.manifest->stages.is_object()) return nullptr;
  const auto at = facts.manifest->stages.find("partition");
  return at == facts.manifest->stages.end() || !at->is_object() ? nullptr : &*at;
}

// Several targets state the share; with one, a node that fell back is named.
RuleResult fallbackShare(int most, const Json* partition) {
  constexpr char kRule[] = "maxFallbackPermille";
  if (!partition) return {false, kRule, "the manifest does not say how it was partitioned"};
  const auto share = partition->find("fallbackPermille"), nodes = partition->find("fallback");
  std::int64_t found = 0;
  if (share != partition->end() && share->is_number_integer())
    found = share->get<std::int64_t>();
  else if (nodes == partition->end() || !nodes->is_array() || !nodes->empty())
    return {false, kRule, "the manifest does not state the share of nodes that fell back"};
  const std::string text = fmt::format("{} of 1000 nodes fell back, at most {} may", found, most);
  return {found <= most, kRule, found <= most ? "satisfied: " + text : text};
}

RuleResult partitionTargets(const std::vector<std::string>& accepted, const Json* partition) {
  constexpr char kRule[] = "partitionTargets";
  std::vector<std::string> targets;
  if (partition && partition->contains("partitions") && (*partition)["partitions"].is_array())
    for (const Json& one : (*partition)["partitions"])
      if (one.is_object() && one.contains("target") && one["target"].is_string())
        targets.push_back(one["target"].get<std::string>());
  if (targets.empty()) return {false, kRule, "the manifest does not say how it was partitioned"};
  return allOf(kRule, accepted, targets);
}

void addArtifactRules(const Policy& policy, const PolicyFacts& facts, std::vector<RuleResult>& out) {
  const Provenance& provenance = *facts.provenance;
  if (!policy.minToolchainVersion.empty())
    out.push_back(toolchainVersion(policy.minToolchainVersion, parameter(provenance, "toolchainLabel")));
  if (policy.maxFallbackPermille)
    out.push_back(fallbackShare(*policy.maxFallbackPermille, partitionStage(facts)));
  if (!policy.partitionTargets.empty())
    out.push_back(partitionTargets(policy.partitionTargets, partitionStage(facts)));
}

// By the log where both are in one, else by the times that they state.
bool isLater(const Attestation& one, const Attestation& other) {
  if (!one.evidence.log.empty() && one.evidence.log == other.evidence.log)
    return one.evidence.logIndex > other.evidence.logIndex;
  return one.summary->timeVerified > other.summary->timeVerified;
}

// One of the accepted verifiers whose latest verdict under an accepted policy is that it passed.
RuleResult promoted(const WantedStatement& wanted, std::span<const Attestation> attestations) {
  constexpr char kRule[] = "statements";
  std::map<std::string, const Attestation*> latest;
  for (const Attestation& one : attestations) {
    if (one.predicateType != kVsaType || !one.summary) continue;
    if (std::ranges::find(wanted.policies, one.summary->policy.text()) == wanted.policies.end()) continue;
    for (const std::string& id : one.evidence.ids)
      if (const Attestation*& held = latest[id]; !held || isLater(one, *held)) held = &one;
  }
  std::string why = "no verdict under " + joined(wanted.policies) + " by any of " + joined(wanted.authors);
  for (const auto& [id, one] : latest) {
    if (!accepts(wanted.authors, id)) continue;
    if (one->summary->passed())
      return {true, kRule, fmt::format("{}: satisfied by {}, PASSED", kVsaType, printable(id))};
    why = fmt::format("the latest verdict of {} is FAILED: {}", printable(id), joined(one->summary->failed));
  }
  return {false, kRule, std::string(kVsaType) + ": " + why};
}

// Whether an input statement says what a policy wants of one.
bool meets(const Attestation& one, const WantedInput& wanted) {
  const auto any = [](const std::vector<std::string>& accepted, const std::string& value) {
    return accepted.empty() || (!value.empty() && accepts(accepted, value));
  };
  return one.input && any(wanted.predicateTypes, one.input->predicateType) &&
         any(wanted.identities, one.input->identity) && any(wanted.issuers, one.input->issuer) &&
         any(wanted.roots, one.input->root) && any(wanted.keyIds, one.input->keyId);
}

// Who signed what of the model, for people.
std::string signedText(const std::optional<SignedInput>& input) {
  if (!input || input->predicateType.empty()) return {};
  const std::string who =
      input->identity.empty() ? "key " + printable(input->keyId) : printable(input->identity);
  return ", for " + printable(input->predicateType) + " by " + who +
         (input->issuer.empty() ? "" : " of " + printable(input->issuer));
}

// ", of https://slsa.dev/provenance/v1, by IDENTITY of ISSUER", as far as a policy wants it; for people.
std::string wantedText(const WantedInput& wanted) {
  std::string out;
  const auto add = [&](const char* word, const std::vector<std::string>& values) {
    if (!values.empty()) out += std::string(", ") + word + " " + joined(values);
  };
  add("of", wanted.predicateTypes);
  add("by", wanted.identities);
  add("as known to", wanted.issuers);
  add("under the root", wanted.roots);
  add("by the key", wanted.keyIds);
  return out;
}

RuleResult attested(const WantedStatement& wanted, std::span<const Attestation> attestations) {
  constexpr char kRule[] = "statements";
  if (wanted.predicateType == kVsaType) return promoted(wanted, attestations);
  for (const Attestation& one : attestations) {
    if (one.predicateType != wanted.predicateType || (wanted.input && !meets(one, *wanted.input))) continue;
    for (const std::string& id : one.evidence.ids)
      if (accepts(wanted.authors, id))
        return {true, kRule,
                printable(wanted.predicateType) + ": satisfied by " + printable(id) + signedText(one.input)};
  }
  return {false, kRule,
          printable(wanted.predicateType) + ": no statement of it by any of " + joined(wanted.authors) +
              (wanted.input ? wantedText(*wanted.input) : std::string())};
}

void addLogRules(const Policy& policy, const StatementEvidence* evidence, std::vector<RuleResult>& out) {
  if (!policy.requireLog) return;
  const bool logged = evidence && evidence->logged;
  out.push_back(
      {logged, "requireLog",
       logged ? "satisfied by an entry in a log of the root" : "the provenance is in no log of the root"});
  if (policy.minWitnesses == 0) return;
  const std::set<std::string> witnesses = evidence ? evidence->witnesses : std::set<std::string>();
  out.push_back(atLeast("minWitnesses", policy.minWitnesses, witnesses));
  if (!out.back().ok)
    out.back().detail = fmt::format("cosigned by {} of the {} witnesses wanted: {}", witnesses.size(),
                                    policy.minWitnesses, witnesses.empty() ? "none" : joined(witnesses));
}

RuleResult youngerThan(const char* rule, const char* what, std::int64_t most, std::optional<TimePoint> at,
                       TimePoint now) {
  if (!at) return {false, rule, fmt::format("{} is not known", what)};
  const auto age = std::chrono::floor<std::chrono::seconds>(now - *at).count();
  const std::string text = fmt::format("{} is of {}, {} s ago; at most {} s", what, rfc3339(*at), age, most);
  return {age <= most, rule, age <= most ? "satisfied: " + text : text};
}

}  // namespace

Agreement agreementOf(const Policy& policy, const PolicyFacts& facts) {
  const Provenance& provenance = *facts.provenance;
  Agreement out;
  const auto add = [&](const std::string& name, const std::string& operatorName, const std::string& sandbox) {
    out.workers.insert(name);
    out.operators.insert(operatorName);
    if (sandbox.empty()) out.own.insert(name);
  };
  const auto named = [](const auto& one) { return one.worker + " (" + one.operatorName + ")"; };
  for (const Builder& builder : provenance.builders)
    add(named(builder), builder.operatorName, builder.sandbox);
  const auto action = provenance.internalParameters.find("action");
  for (const Reproduction& one : facts.reproductions) {
    const bool same = action != provenance.internalParameters.end() && action->second == one.compile.text();
    if (!same || !accepts(policy.builderIds, one.rebuilderId)) continue;
    if (one.rebuilderId == provenance.builderId)
      add(named(one), one.operatorName, one.sandbox);
    else
      add(one.rebuilderId + " (" + one.rebuilderId + ")", one.rebuilderId, one.sandbox);
  }
  return out;
}

bool countsStatement(const Policy& policy, const StatementEvidence& evidence) {
  return (!policy.requireLog || evidence.logged) &&
         evidence.witnesses.size() >= static_cast<std::size_t>(policy.minWitnesses);
}

std::vector<RuleResult> evaluate(const Policy& policy, const PolicyFacts& facts) {
  const Provenance& provenance = *facts.provenance;
  const Agreement agreement = agreementOf(policy, facts);
  std::vector<RuleResult> out;
  out.push_back(development(policy, facts.developmentRoot));
  out.push_back(oneOf("builderIds", policy.builderIds, provenance.builderId));
  if (!policy.signers.empty())
    out.push_back(oneOf("signers", policy.signers, facts.evidence ? facts.evidence->keyId : std::string()));
  out.push_back(atLeast("minBuilders", policy.minBuilders, agreement.workers));
  out.push_back(atLeast("minOperators", policy.minOperators, agreement.operators));
  // Told where it is more than what every artifact without a cluster has.
  if (policy.minOwnSandbox > 1 || (policy.minOwnSandbox == 1 && agreement.own != agreement.workers))
    out.push_back(atLeast("minOwnSandbox", policy.minOwnSandbox, agreement.own));
  // Fixtures are one worker's evaluation, which no other confirms.
  if (const std::string elsewhere = provenance.fixturesSandbox();
      policy.minOwnSandbox > 0 && !elsewhere.empty())
    out.push_back({false, "minOwnSandbox",
                   "the fixtures were made in " + printable(elsewhere) + ", not in Kiln's own"});
  out.push_back(allOf("targets", policy.targets, targetNames(parameter(provenance, "target"))));
  out.push_back(oneOf("toolchains", policy.toolchains, parameter(provenance, "toolchain")));
  addArtifactRules(policy, facts, out);
  addCheckRules(policy, facts.checks, out);
  for (const WantedStatement& wanted : policy.statements) out.push_back(attested(wanted, facts.attestations));
  addLogRules(policy, facts.evidence, out);
  if (policy.maxAgeSeconds)
    out.push_back(
        youngerThan("maxAgeSeconds", "the compile", *policy.maxAgeSeconds, provenance.finishedOn, facts.now));
  if (policy.maxRecallAgeSeconds)
    out.push_back(youngerThan("maxRecallAgeSeconds", "the newest recalls.json that has not expired",
                              *policy.maxRecallAgeSeconds, facts.recallsIssued, facts.now));
  return out;
}

}  // namespace kiln::signing
