#include "signing/policy/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace kiln::signing {
namespace {

Provenance provenance() {
  Provenance out;
  out.builderId = "urn:b";
  out.externalParameters = {{"target", "cpu:x86-64-v3"}, {"toolchain", digestOf("t").text()}};
  out.builders = {{"w1", "acme", {}}, {"w2", "acme", {}}, {"w3", "other", {}}};
  return out;
}

std::vector<std::string> failing(const Policy& policy, const Provenance& facts, bool development = false) {
  std::vector<std::string> out;
  for (const RuleResult& rule : evaluate(policy, {development, &facts})) {
    EXPECT_FALSE(rule.detail.empty());
    if (!rule.ok) out.push_back(rule.rule);
  }
  return out;
}

TEST(Policy, ShippedOnesParse) {
  Policy development =
      Policy::load(std::string(KILN_SOURCE_DIR) + "/signing/policy/development.json").value();
  Policy production = Policy::load(std::string(KILN_SOURCE_DIR) + "/signing/policy/production.json").value();
  EXPECT_TRUE(failing(development, provenance(), true).empty());
  EXPECT_EQ(failing(production, provenance(), true),
            (std::vector<std::string>{"allowDevelopment", "requireCheck"}));
  EXPECT_EQ(failing(production, provenance(), false), std::vector<std::string>{"requireCheck"});
}

TEST(AttackCases, Case21WorkersOfOneOperatorCountOnceWhereDiversityIsAsked) {
  Policy policy{"p", true, {"*"}, 2, 2, {"*"}, {"*"}};
  Provenance facts = provenance();
  EXPECT_TRUE(failing(policy, facts).empty());
  facts.builders.pop_back();
  EXPECT_EQ(failing(policy, facts), std::vector<std::string>{"minOperators"});
}

TEST(Policy, EachRuleSaysWhatIsMissing) {
  Provenance facts = provenance();
  EXPECT_EQ(failing({"p", true, {"urn:other"}, 4, 1, {"cuda:sm_80"}, {digestOf("u").text()}}, facts),
            (std::vector<std::string>{"builderIds", "minBuilders", "targets", "toolchains"}));
  auto rules = evaluate({"p", true, {"urn:other"}, 1, 1, {"*"}, {"*"}}, {false, &facts});
  EXPECT_EQ(rules[1].detail, "urn:b is not accepted; accepted: urn:other");
  EXPECT_EQ(rules[2].detail, "satisfied by 3 of 1: w1 (acme), w2 (acme), w3 (other)");
}

TEST(Policy, AProgramForSeveralTargetsWantsEachAccepted) {
  Provenance facts = provenance();
  facts.externalParameters["target"] = "cpu:x86-64-v4,cpu:x86-64-v3";
  EXPECT_TRUE(failing({"p", true, {"*"}, 1, 1, {"cpu:x86-64-v3", "cpu:x86-64-v4"}, {"*"}}, facts).empty());
  EXPECT_EQ(failing({"p", true, {"*"}, 1, 1, {"cpu:x86-64-v3"}, {"*"}}, facts),
            std::vector<std::string>{"targets"});
}

Manifest partitioned(Json stage) {
  Manifest manifest;
  manifest.stages = {{"partition", std::move(stage)}};
  return manifest;
}

// How one rule came out under `policy`; the first of its name.
RuleResult ruled(const Policy& policy, const PolicyFacts& facts, const std::string& rule) {
  for (const RuleResult& one : evaluate(policy, facts))
    if (one.rule == rule) return one;
  ADD_FAILURE() << rule << " was not asked";
  return {};
}
Policy anyPolicy() {
  return {"p", true, {"*"}, 1, 1, {"*"}, {"*"}};
}

TEST(Policy, SignersAreAcceptedByKey) {
  Policy policy = anyPolicy();
  policy.signers = {"key-1", "key-2"};
  const Provenance statement = provenance();
  const StatementEvidence one{{}, "key-1"}, other{{}, "key-3"};
  PolicyFacts facts{false, &statement};
  EXPECT_FALSE(ruled(policy, facts, "signers").ok) << "unknown";
  facts.evidence = &one;
  EXPECT_TRUE(ruled(policy, facts, "signers").ok);
  facts.evidence = &other;
  EXPECT_EQ(ruled(policy, facts, "signers").detail, "key-3 is not accepted; accepted: key-1, key-2");
}

TEST(AttackCases, Case10AToolchainOlderThanTheLeastVersionIsRefused) {
  Policy policy = anyPolicy();
  policy.minToolchainVersion = "0.10.0";
  for (auto [label, ok] : {std::pair<const char*, bool>{"kiln-0.10.0+llvm22.1.8", true},
                           {"kiln-0.10.1", true},
                           {"kiln-1.0", true},
                           {"kiln-0.9.9+llvm99.0", false},
                           {"kiln-0.10", false},
                           {"nightly", false},
                           {"kiln-99999999999999999999", false},
                           {"", false}}) {
    Provenance statement = provenance();
    if (*label) statement.externalParameters["toolchainLabel"] = label;
    EXPECT_EQ(ruled(policy, {false, &statement}, "minToolchainVersion").ok, ok) << label;
  }
}

TEST(Policy, FallbackAndPartitionComeFromTheManifest) {
  Policy policy = anyPolicy();
  policy.maxFallbackPermille = 50;
  policy.partitionTargets = {"cuda:sm_90a", "cpu:x86-64-v3"};
  const Provenance statement = provenance();
  const auto verdict = [&](const Json& stage, const char* rule) {
    const Manifest manifest = partitioned(stage);
    PolicyFacts facts{false, &statement};
    facts.manifest = &manifest;
    return ruled(policy, facts, rule);
  };
  const Json gpu{{"target", "cuda:sm_90a"}}, cpu{{"target", "cpu:x86-64-v3"}},
      other{{"target", "cpu:x86-64-v4"}};
  EXPECT_TRUE(verdict({{"fallbackPermille", 50}}, "maxFallbackPermille").ok);
  EXPECT_FALSE(verdict({{"fallbackPermille", 51}}, "maxFallbackPermille").ok);
  EXPECT_TRUE(verdict({{"fallback", Json::array()}}, "maxFallbackPermille").ok)
      << "one target, nothing fell back";
  EXPECT_FALSE(verdict({{"fallback", {{{"node", "n"}}}}}, "maxFallbackPermille").ok) << "of how many?";
  EXPECT_FALSE(verdict(Json::object(), "maxFallbackPermille").ok);
  EXPECT_TRUE(verdict({{"partitions", {gpu, cpu}}}, "partitionTargets").ok);
  EXPECT_FALSE(verdict({{"partitions", {gpu, other}}}, "partitionTargets").ok);
  EXPECT_FALSE(verdict(Json::object(), "partitionTargets").ok);
  PolicyFacts nothing{false, &statement};
  EXPECT_FALSE(ruled(policy, nothing, "partitionTargets").ok);
}

TEST(Policy, ThirdPartiesAreHeldToTheirAuthors) {
  Policy policy = anyPolicy();
  policy.statements = {{"https://spdx.dev/Document/v2.3", {"urn:legal"}}};
  const Provenance statement = provenance();
  std::vector<Attestation> all{{"https://spdx.dev/Document/v2.3", {{}, "k", false, {}, {"urn:stranger"}}},
                               {"urn:evaluation", {{}, "k", false, {}, {"urn:legal"}}}};
  PolicyFacts facts{false, &statement};
  facts.attestations = all;
  EXPECT_FALSE(ruled(policy, facts, "statements").ok);
  all[0].evidence.ids.push_back("urn:legal");
  EXPECT_TRUE(ruled(policy, facts, "statements").ok);
}

TEST(Policy, OfTwoVerdictsInOneLogTheLaterEntryCounts) {
  Policy policy = anyPolicy();
  policy.statements = {{kVsaType, {"urn:farm"}, {digestOf("strict").text()}}};
  const Provenance statement = provenance();
  const auto verdict = [](std::vector<std::string> failed, std::uint64_t index, int seconds) {
    VerificationSummary summary;
    summary.timeVerified = TimePoint(std::chrono::seconds(seconds));
    summary.failed = std::move(failed);
    summary.policy = digestOf("strict");
    StatementEvidence evidence{{}, "k", true, {}, {"urn:farm"}};
    evidence.log = "log.example";
    evidence.logIndex = index;
    return Attestation{kVsaType, evidence, summary};
  };
  // A clock that was set back does not bring an earlier verdict to the fore.
  std::vector<Attestation> all{verdict({}, 3, 900), verdict({"minBuilders"}, 7, 100)};
  PolicyFacts facts{false, &statement};
  facts.attestations = all;
  const RuleResult refused = ruled(policy, facts, "statements");
  EXPECT_FALSE(refused.ok);
  EXPECT_NE(refused.detail.find("FAILED: minBuilders"), std::string::npos) << refused.detail;
  std::swap(all[0].evidence.logIndex, all[1].evidence.logIndex);
  EXPECT_TRUE(ruled(policy, facts, "statements").ok);
}

TEST(Policy, AVerdictUnderAnotherPolicyIsNone) {
  Policy policy = anyPolicy();
  policy.statements = {{kVsaType, {"urn:farm"}, {digestOf("strict").text()}}};
  const Provenance statement = provenance();
  const auto verdict = [](const char* under, std::vector<std::string> failed, std::uint64_t index) {
    VerificationSummary summary;
    summary.failed = std::move(failed);
    summary.policy = {digestOf(under).hash, 0};
    StatementEvidence evidence{{}, "k", true, {}, {"urn:farm"}};
    evidence.log = "log.example";
    evidence.logIndex = index;
    return Attestation{kVsaType, evidence, summary};
  };
  PolicyFacts facts{false, &statement};
  // One farm, one author; a lax instance let it pass.
  std::vector<Attestation> all{verdict("lax", {}, 9)};
  facts.attestations = all;
  EXPECT_FALSE(ruled(policy, facts, "statements").ok);
  all.insert(all.begin(), verdict("strict", {"minBuilders"}, 3));
  facts.attestations = all;
  const RuleResult refused = ruled(policy, facts, "statements");
  EXPECT_FALSE(refused.ok);
  EXPECT_NE(refused.detail.find("FAILED: minBuilders"), std::string::npos) << refused.detail;
  all = {verdict("strict", {}, 3), verdict("lax", {"minBuilders"}, 9)};
  facts.attestations = all;
  EXPECT_TRUE(ruled(policy, facts, "statements").ok);
}

TEST(Policy, AVerdictIsWantedUnderNamedPolicies) {
  const std::string digest = digestOf("strict").text();
  const auto refuses = [](const Json& wanted) {
    Json json = anyPolicy().toJson();
    json["statements"] = Json::array({wanted});
    const auto parsed = Policy::parse(json.dump());
    return parsed ? std::string() : parsed.error().message;
  };
  Json wanted{{"predicateType", kVsaType}, {"authors", {"urn:farm"}}, {"policies", {digest}}};
  EXPECT_EQ(refuses(wanted), "");
  EXPECT_EQ(Policy::parse([&] {
              Json json = anyPolicy().toJson();
              json["statements"] = Json::array({wanted});
              return json.dump();
            }())
                ->toJson()["statements"][0],
            wanted);
  for (const Json& bad : {Json::array(), Json::array({"*"}), Json::array({digest.substr(7)})}) {
    wanted["policies"] = bad;
    EXPECT_NE(refuses(wanted).find("policies"), std::string::npos) << bad;
  }
  wanted.erase("policies");
  EXPECT_NE(refuses(wanted).find("policies"), std::string::npos);
  EXPECT_NE(refuses({{"predicateType", "urn:sbom"}, {"authors", {"a"}}, {"policies", {digest}}}), "");
}

TEST(Policy, LogAndWitnesses) {
  Policy policy = anyPolicy();
  policy.requireLog = true;
  policy.minWitnesses = 2;
  const Provenance statement = provenance();
  StatementEvidence evidence{{}, "k"};
  PolicyFacts facts{false, &statement};
  facts.evidence = &evidence;
  EXPECT_FALSE(ruled(policy, facts, "requireLog").ok);
  EXPECT_FALSE(countsStatement(policy, evidence));
  evidence.witnesses = {"w1", "w2"};
  EXPECT_FALSE(countsStatement(policy, evidence)) << "seen, but in no log of the root";
  evidence.logged = true;
  evidence.witnesses = {"w1"};
  EXPECT_FALSE(countsStatement(policy, evidence)) << "one witness of two";
  EXPECT_TRUE(ruled(policy, facts, "requireLog").ok);
  EXPECT_EQ(ruled(policy, facts, "minWitnesses").detail, "cosigned by 1 of the 2 witnesses wanted: w1");
  evidence.witnesses.insert("w2");
  EXPECT_TRUE(ruled(policy, facts, "minWitnesses").ok);
  EXPECT_TRUE(countsStatement(policy, evidence));
}

TEST(Policy, AgesAreBounded) {
  Policy policy = anyPolicy();
  policy.maxAgeSeconds = 3600;
  policy.maxRecallAgeSeconds = 60;
  Provenance statement = provenance();
  statement.finishedOn = parseRfc3339("2026-11-20T05:00:00Z").value();
  PolicyFacts facts{false, &statement};
  facts.now = statement.finishedOn + std::chrono::hours(1);
  EXPECT_TRUE(ruled(policy, facts, "maxAgeSeconds").ok);
  EXPECT_FALSE(ruled(policy, facts, "maxRecallAgeSeconds").ok) << "no news at all";
  facts.recallsIssued = facts.now - std::chrono::seconds(60);
  EXPECT_TRUE(ruled(policy, facts, "maxRecallAgeSeconds").ok);
  facts.now += std::chrono::seconds(1);
  EXPECT_FALSE(ruled(policy, facts, "maxAgeSeconds").ok);
  EXPECT_FALSE(ruled(policy, facts, "maxRecallAgeSeconds").ok);
}

CheckStatement check(bool passed, TimePoint at) {
  CheckStatement out;
  out.worker = "w1";
  out.finishedOn = at;
  out.report = {{"passed", passed},
                {"items", {{{"kind", "golden"}, {"name", "g"}, {"passed", passed}, {"detail", "d"}}}},
                {"measured", Json::object()},
                {"device", Json::object()}};
  return out;
}

TEST(Policy, TheLatestCheckDecides) {
  Policy policy{"p", true, {"*"}, 1, 1, {"*"}, {"*"}, true};
  const Provenance facts = provenance();
  const TimePoint early{}, late = early + std::chrono::hours(1);
  const auto verdict = [&](const std::vector<CheckStatement>& checks) {
    return evaluate(policy, {false, &facts, checks}).back();
  };
  EXPECT_FALSE(verdict({}).ok);
  EXPECT_EQ(verdict({}).detail, "the artifact is unchecked");
  EXPECT_TRUE(verdict({check(true, early)}).ok);
  EXPECT_FALSE(verdict({check(true, early), check(false, late)}).ok);
  EXPECT_NE(verdict({check(false, late)}).detail.find("failed: golden g (d)"), std::string::npos);
  EXPECT_TRUE(verdict({check(true, late), check(false, early)}).ok) << "qualified again";
  policy.requireCheck = false;
  EXPECT_TRUE(verdict({check(false, late)}).ok) << "told, not required";
  EXPECT_NE(verdict({check(false, late)}).detail.find("failed"), std::string::npos);
}

TEST(Policy, RequiredChecksHoldTheirTolerances) {
  Policy policy = anyPolicy();
  policy.requireCheck = true;
  const Provenance facts = provenance();
  const auto verdict = [&](const WantedCheck& wanted, const std::vector<Json>& items) {
    policy.checks = {wanted};
    std::vector<CheckStatement> checks{check(true, TimePoint{})};
    checks[0].report["items"] = items;
    return ruled(policy, {false, &facts, checks}, "checks");
  };
  const auto item = [](const char* kind, const char* name, Json measured) {
    Json one{{"kind", kind}, {"name", name}, {"passed", true}, {"detail", ""}};
    if (!measured.is_null()) one["measured"] = std::move(measured);
    return one;
  };
  const Json close{{"maxAbsolute", "0.000100"}, {"maxRelative", "0.01"}};
  EXPECT_TRUE(verdict({"golden", "g", 0.001, 0.01}, {item("golden", "g: y", close)}).ok);
  EXPECT_FALSE(verdict({"golden", "g", 0.00001}, {item("golden", "g: y", close)}).ok) << "not close enough";
  EXPECT_FALSE(verdict({"golden", "g", {}, 0.001}, {item("golden", "g: y", close)}).ok);
  EXPECT_FALSE(verdict({"golden", "h"}, {item("golden", "g: y", close)}).ok) << "another golden";
  EXPECT_FALSE(verdict({"fixture"}, {item("golden", "g: y", close)}).ok) << "another kind";
  EXPECT_FALSE(verdict({"golden", "g", 0.001}, {item("golden", "g: y", nullptr)}).ok) << "says no number";
  EXPECT_FALSE(
      verdict({"golden", "", 0.001}, {item("golden", "g: y", close), item("golden", "h: y", nullptr)}).ok)
      << "each of the kind";
  EXPECT_TRUE(verdict({"metric", "top1", {}, {}, 0.75}, {item("metric", "top1", {{"accuracy", "0.75"}})}).ok);
  EXPECT_FALSE(
      verdict({"metric", "top1", {}, {}, 0.76}, {item("metric", "top1", {{"accuracy", "0.75"}})}).ok);
  EXPECT_FALSE(ruled(policy, {false, &facts}, "checks").ok) << "unchecked";
}

TEST(Policy, EmulatedChecksAreRefusedWhereThePolicySaysSo) {
  Policy policy = anyPolicy();
  policy.requireCheck = true;
  const Provenance facts = provenance();
  std::vector<CheckStatement> checks{check(true, TimePoint{})};
  checks[0].report["device"]["emulated"] = true;
  const RuleResult counted = ruled(policy, {false, &facts, checks}, "requireCheck");
  EXPECT_TRUE(counted.ok);
  EXPECT_NE(counted.detail.find("on an emulated device"), std::string::npos) << "whoever counts it is told";
  policy.refuseEmulated = true;
  const RuleResult missing = ruled(policy, {false, &facts, checks}, "requireCheck");
  EXPECT_FALSE(missing.ok);
  EXPECT_EQ(missing.detail, "the artifact is unchecked, but for what an emulated device said");
  EXPECT_EQ(ruled(policy, {false, &facts, checks}, "refuseEmulated").detail, "1 emulated check not counted");
  checks.push_back(check(true, TimePoint{}));
  EXPECT_TRUE(ruled(policy, {false, &facts, checks}, "requireCheck").ok);
}

TEST(Policy, EveryMemberRoundTrips) {
  Policy policy{"p", false, {"*"}, 2, 1, {"*"}, {"*"}, true};
  policy.signers = {"k"};
  policy.minToolchainVersion = "0.2.0";
  policy.maxFallbackPermille = 0;
  policy.partitionTargets = {"cuda:sm_90a"};
  policy.checks = {{"golden", "g", 0.001, 0.25, {}}, {"metric", "top1", {}, {}, 0.75}};
  policy.refuseEmulated = true;
  policy.statements = {{"urn:sbom", {"urn:legal"}}};
  policy.requireLog = true;
  policy.minWitnesses = 2;
  policy.maxAgeSeconds = 3600;
  policy.maxRecallAgeSeconds = 60;
  const Json good = policy.toJson();
  auto parsed = Policy::parse(good.dump());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->toJson(), good);
  for (auto [name, value] : {std::pair<const char*, Json>{"minToolchainVersion", "new"},
                             {"maxFallbackPermille", 1001},
                             {"partitionTargets", Json::array()},
                             {"checks", {{{"kind", ""}}}},
                             {"checks", {{{"kind", "golden"}, {"maxAbsolute", 1}}}},
                             {"statements", {{{"predicateType", "p"}, {"authors", Json::array()}}}},
                             {"minWitnesses", 17},
                             {"maxAgeSeconds", 0},
                             {"maxRecallAgeSeconds", -1}}) {
    Json bad = good;
    bad[name] = value;
    auto refused = Policy::parse(bad.dump());
    ASSERT_FALSE(refused) << name;
    EXPECT_NE(refused.error().message.find(std::string("policy.") + name), std::string::npos)
        << refused.error().message;
  }
  for (const char* needed : {"requireCheck", "requireLog"}) {
    Json bad = good;
    bad[needed] = false;
    EXPECT_FALSE(Policy::parse(bad.dump())) << needed;
  }
}

TEST(Policy, ParsesStrictly) {
  Policy policy{"p", false, {"*"}, 2, 1, {"cpu:x86-64-v3"}, {digestOf("t").text()}};
  Json good = policy.toJson();
  EXPECT_EQ(Policy::parse(good.dump())->toJson(), good);
  for (auto [name, value] : {std::pair<const char*, Json>{"minBuilders", 0},
                             {"minOperators", 3},
                             {"targets", Json::array()},
                             {"toolchains", {"kiln-0.1.0"}},
                             {"allowDevelopment", "no"},
                             {"minimum", 1}}) {
    Json bad = good;
    bad[name] = value;
    auto parsed = Policy::parse(bad.dump());
    ASSERT_FALSE(parsed) << name;
    EXPECT_NE(parsed.error().message.find(std::string("policy.") + name), std::string::npos);
  }
}

}  // namespace
}  // namespace kiln::signing
