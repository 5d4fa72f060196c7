#include "signing/policy/evaluate.h"

#include <algorithm>
#include <functional>

#include "tests/signing/policy_fixture.h"

namespace kiln::signing {
namespace {

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

// What a cluster alone has built passes only where the policy says so.
TEST(Policy, AClusterCountsBesideOneThatRanInTheSandbox) {
  Policy policy{"p", true, {"*"}, 1, 1, {"*"}, {"*"}};
  Provenance facts = provenance();
  const auto own = [&](int wanted) {
    policy.minOwnSandbox = wanted;
    return failing(policy, facts).empty();
  };
  EXPECT_TRUE(own(0) && own(1) && own(3));
  facts.builders[0].sandbox = facts.builders[1].sandbox = "reapi-cluster/1";
  EXPECT_TRUE(own(0) && own(1));
  EXPECT_FALSE(own(2));
  facts.builders[2].sandbox = "reapi-cluster/1";
  EXPECT_TRUE(own(0));
  EXPECT_FALSE(own(1));
  EXPECT_EQ(failing(policy, facts), std::vector<std::string>{"minOwnSandbox"});
  // A rebuild in the sandbox makes up for it, one in a cluster does not.
  facts.internalParameters["action"] = digestOf("a").text();
  Reproduction again;
  again.rebuilderId = "urn:b";
  again.worker = "w4";
  again.operatorName = "acme";
  again.compile = digestOf("a");
  PolicyFacts known{false, &facts};
  known.reproductions = {&again, 1};
  const auto passes = [&] { return std::ranges::all_of(evaluate(policy, known), &RuleResult::ok); };
  EXPECT_TRUE(passes());
  again.sandbox = "reapi-cluster/1";
  EXPECT_FALSE(passes());
}

// No other builder confirms them, so a cluster's are refused however many agree on the program.
TEST(Policy, FixturesOfAClusterPassOnlyWhereClustersAloneDo) {
  Policy policy{"p", true, {"*"}, 1, 1, {"*"}, {"*"}};
  Provenance facts = provenance();
  std::erase_if(facts.byproducts, [](const Material& one) { return one.name == kFixturesByproduct; });
  facts.byproducts.push_back({kFixturesByproduct, "", digestOf("f"), {}});
  EXPECT_TRUE(failing(policy, facts).empty());
  facts.byproducts.back().annotations[kSandboxAnnotation] = "reapi-cluster/1";
  EXPECT_EQ(failing(policy, facts), std::vector<std::string>{"minOwnSandbox"});
  policy.minOwnSandbox = 0;
  EXPECT_TRUE(failing(policy, facts).empty());
}

TEST(Policy, MinOwnSandboxIsReadWithinItsBounds) {
  const auto read = [](const char* value, int builders) {
    Json json = Policy{"p", true, {"*"}, builders, 1, {"*"}, {"*"}}.toJson();
    EXPECT_FALSE(json.contains("minOwnSandbox"));
    json["minOwnSandbox"] = Json::parse(value);
    const auto policy = Policy::parse(json.dump());
    return policy ? policy->minOwnSandbox : -1;
  };
  EXPECT_EQ(read("0", 1), 0);
  EXPECT_EQ(read("2", 2), 2);
  EXPECT_EQ(read("2", 1), -1);
  EXPECT_EQ(read("-1", 1), -1);
  EXPECT_EQ(read("\"own\"", 1), -1);
  Policy none{"p", true, {"*"}, 1, 1, {"*"}, {"*"}};
  none.minOwnSandbox = 0;
  EXPECT_EQ(Policy::parse(none.toJson().dump())->minOwnSandbox, 0);
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
  const Policy both{"p", true, {"*"}, 1, 1, {"cpu:x86-64-v3", "cpu:x86-64-v4"}, {"*"}};
  EXPECT_TRUE(failing(both, facts).empty());
  EXPECT_EQ(ruled(both, {false, &facts}, "targets").detail, "satisfied by cpu:x86-64-v4,cpu:x86-64-v3");
  EXPECT_EQ(failing({"p", true, {"*"}, 1, 1, {"cpu:x86-64-v3"}, {"*"}}, facts),
            std::vector<std::string>{"targets"});
}

Manifest partitioned(Json stage) {
  Manifest manifest;
  manifest.stages = {{"partition", std::move(stage)}};
  return manifest;
}

TEST(Policy, RulesThatAreNotAskedForAreLeftOut) {
  const auto asked = [](const Policy& policy) {
    const Provenance statement = provenance();
    std::vector<std::string> out;
    for (const RuleResult& rule : evaluate(policy, {false, &statement})) out.push_back(rule.rule);
    return out;
  };
  const std::vector<std::string> always{"allowDevelopment", "builderIds", "minBuilders", "minOperators",
                                        "targets",          "toolchains", "requireCheck"};
  EXPECT_EQ(asked(anyPolicy()), always);
  const std::vector<std::pair<const char*, std::function<void(Policy&)>>> each{
      {"signers", [](Policy& policy) { policy.signers = {"k"}; }},
      {"minToolchainVersion", [](Policy& policy) { policy.minToolchainVersion = "1.0"; }},
      {"maxFallbackPermille", [](Policy& policy) { policy.maxFallbackPermille = 0; }},
      {"partitionTargets", [](Policy& policy) { policy.partitionTargets = {"*"}; }},
      {"checks", [](Policy& policy) { policy.checks = {{"golden"}}; }},
      {"refuseEmulated", [](Policy& policy) { policy.refuseEmulated = true; }},
      {"checkDevices", [](Policy& policy) { policy.checkDevices = {CheckedOn::kHardware}; }},
      {"statements", [](Policy& policy) { policy.statements = {{"urn:sbom", {"*"}}}; }},
      {"requireLog", [](Policy& policy) { policy.requireLog = true; }},
      {"maxAgeSeconds", [](Policy& policy) { policy.maxAgeSeconds = 1; }},
      {"maxRecallAgeSeconds", [](Policy& policy) { policy.maxRecallAgeSeconds = 1; }}};
  for (const auto& [name, ask] : each) {
    Policy policy = anyPolicy();
    ask(policy);
    std::vector<std::string> rules = asked(policy);
    EXPECT_EQ(std::erase(rules, name), 1u) << name;
    EXPECT_EQ(rules, always) << name;
  }
  Policy witnessed = anyPolicy();
  witnessed.requireLog = true;
  witnessed.minWitnesses = 1;
  EXPECT_EQ(asked(witnessed).back(), "minWitnesses");
}

TEST(Policy, DevelopmentRootsWantAPolicyThatAllowsThem) {
  const Provenance statement = provenance();
  for (const bool root : {false, true}) {
    for (const bool allowed : {false, true}) {
      Policy policy = anyPolicy();
      policy.allowDevelopment = allowed;
      EXPECT_EQ(ruled(policy, {root, &statement}, "allowDevelopment").ok, !root || allowed);
    }
  }
}

TEST(Policy, CountsBeginWhereTheyAreAsked) {
  const Provenance statement = provenance();  // three workers of two operators
  for (const int wanted : {1, 2, 3, 4}) {
    Policy policy = anyPolicy();
    policy.minBuilders = policy.minOperators = wanted;
    EXPECT_EQ(ruled(policy, {false, &statement}, "minBuilders").ok, wanted <= 3) << wanted;
    EXPECT_EQ(ruled(policy, {false, &statement}, "minOperators").ok, wanted <= 2) << wanted;
  }
}

Reproduction again(const std::string& rebuilder, const std::string& worker, const std::string& operatorName) {
  Reproduction out;
  out.rebuilderId = rebuilder;
  out.worker = worker;
  out.operatorName = operatorName;
  out.compile = digestOf("action");
  return out;
}

TEST(Policy, ReproductionsAddWhomThePolicyAccepts) {
  using Names = std::set<std::string>;
  Policy policy = anyPolicy();
  policy.builderIds = {"urn:b", "urn:auditor"};
  Provenance statement = provenance();
  statement.builders = {{"w1", "acme", {}}};
  statement.internalParameters = {{"action", digestOf("action").text()}};
  const auto agreed = [&](const std::vector<Reproduction>& all) {
    PolicyFacts facts{false, &statement};
    facts.reproductions = all;
    return agreementOf(policy, facts);
  };
  EXPECT_EQ(agreed({}).workers, Names{"w1 (acme)"});
  EXPECT_EQ(agreed({}).operators, Names{"acme"});

  const auto own = agreed({again("urn:b", "w2", "other"), again("urn:b", "w1", "acme")});
  EXPECT_EQ(own.workers, (Names{"w1 (acme)", "w2 (other)"})) << "each once";
  EXPECT_EQ(own.operators, (Names{"acme", "other"}));

  // Whatever names it states, it is one.
  const auto another = agreed({again("urn:auditor", "w8", "x"), again("urn:auditor", "w9", "y")});
  EXPECT_EQ(another.workers, (Names{"w1 (acme)", "urn:auditor (urn:auditor)"}));
  EXPECT_EQ(another.operators, (Names{"acme", "urn:auditor"}));

  EXPECT_EQ(agreed({again("urn:stranger", "w2", "other")}).workers, Names{"w1 (acme)"});
  Reproduction elsewhere = again("urn:auditor", "w2", "other");
  elsewhere.compile = digestOf("another action");
  EXPECT_EQ(agreed({elsewhere}).workers, Names{"w1 (acme)"});
  elsewhere.rebuilderId = "urn:b";
  EXPECT_EQ(agreed({elsewhere}).operators, Names{"acme"});
  statement.internalParameters.clear();
  EXPECT_EQ(agreed({again("urn:auditor", "w2", "other")}).workers, Names{"w1 (acme)"})
      << "a provenance that names no action is reproduced by none";
}

TEST(Policy, ReproductionsCountForTheLeastNumbers) {
  Policy policy = anyPolicy();
  policy.minBuilders = policy.minOperators = 2;
  Provenance statement = provenance();
  statement.builders = {{"w1", "acme", {}}};
  statement.internalParameters = {{"action", digestOf("action").text()}};
  PolicyFacts facts{false, &statement};
  EXPECT_FALSE(ruled(policy, facts, "minBuilders").ok);
  EXPECT_FALSE(ruled(policy, facts, "minOperators").ok);
  std::vector<Reproduction> all{again("urn:b", "w2", "acme")};
  facts.reproductions = all;
  EXPECT_TRUE(ruled(policy, facts, "minBuilders").ok);
  EXPECT_FALSE(ruled(policy, facts, "minOperators").ok) << "two workers of one operator";
  all = {again("urn:auditor", "", "")};
  facts.reproductions = all;
  EXPECT_TRUE(ruled(policy, facts, "minBuilders").ok);
  EXPECT_TRUE(ruled(policy, facts, "minOperators").ok);
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
  EXPECT_TRUE(verdict({{"fallbackPermille", 0}}, "maxFallbackPermille").ok);
  EXPECT_TRUE(verdict({{"fallback", Json::array()}}, "maxFallbackPermille").ok)
      << "one target, nothing fell back";
  for (const Json& noNumber : {Json("50"), Json(0.5), Json(nullptr), Json::array(), Json::object()})
    EXPECT_FALSE(verdict({{"fallbackPermille", noNumber}}, "maxFallbackPermille").ok) << noNumber;
  for (const Json& noList : {Json(""), Json(0), Json(nullptr), Json::object()})
    EXPECT_FALSE(verdict({{"fallback", noList}}, "maxFallbackPermille").ok) << noList;
  EXPECT_FALSE(verdict({{"fallback", {{{"node", "n"}}}}}, "maxFallbackPermille").ok) << "of how many?";
  EXPECT_FALSE(verdict(Json::object(), "maxFallbackPermille").ok);
  EXPECT_TRUE(verdict({{"partitions", {gpu, cpu}}}, "partitionTargets").ok);
  EXPECT_FALSE(verdict({{"partitions", {gpu, other}}}, "partitionTargets").ok);
  EXPECT_FALSE(verdict(Json::object(), "partitionTargets").ok);
  for (const Json& unnamed : {Json(nullptr), Json(5), Json("cuda:sm_90a"), Json::object(),
                              Json{{"target", 5}}, Json{{"targets", "cuda:sm_90a"}}})
    EXPECT_FALSE(verdict({{"partitions", Json::array({unnamed})}}, "partitionTargets").ok) << unnamed;
  for (const Json& noList : {Json(nullptr), Json(5), Json::array(), gpu, Json("cuda:sm_90a")})
    EXPECT_FALSE(verdict({{"partitions", noList}}, "partitionTargets").ok) << noList;
  for (const Json& stage : {Json(nullptr), Json::array(), Json("x"), Json(1)})
    for (const char* rule : {"maxFallbackPermille", "partitionTargets"})
      EXPECT_FALSE(verdict(stage, rule).ok) << stage;
  for (const Json& stages : {Json(nullptr), Json::array(), Json::object()}) {
    Manifest manifest;
    manifest.stages = stages;
    PolicyFacts facts{false, &statement};
    facts.manifest = &manifest;
    EXPECT_FALSE(ruled(policy, facts, "maxFallbackPermille").ok) << stages;
    EXPECT_FALSE(ruled(policy, facts, "partitionTargets").ok) << stages;
  }
  PolicyFacts nothing{false, &statement};
  EXPECT_FALSE(ruled(policy, nothing, "partitionTargets").ok);
  EXPECT_FALSE(ruled(policy, nothing, "maxFallbackPermille").ok);
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
  policy.statements[0].authors = {"urn:other", "*"};
  all = {{"https://spdx.dev/Document/v2.3", {{}, "k", false, {}, {"urn:stranger"}}}};
  facts.attestations = all;
  EXPECT_TRUE(ruled(policy, facts, "statements").ok) << "anybody's";
  all[0].evidence.ids.clear();
  EXPECT_FALSE(ruled(policy, facts, "statements").ok) << "the key speaks for nobody";
}

Attestation verdictOf(const char* author, bool passed, int seconds, const std::string& log = "",
                      std::uint64_t index = 0) {
  VerificationSummary summary;
  summary.timeVerified = TimePoint(std::chrono::seconds(seconds));
  if (!passed) summary.failed = {"minBuilders"};
  summary.policy = digestOf("strict");
  StatementEvidence evidence{{}, "k", !log.empty(), {}, {author}};
  evidence.log = log;
  evidence.logIndex = index;
  return {kVsaType, evidence, summary};
}

struct VerdictPolicyTest : testing::Test {
  Policy policy = anyPolicy();
  const Provenance statement = provenance();
  void SetUp() override {
    policy.statements = {{kVsaType, {"urn:farm", "urn:second"}, {digestOf("strict").text()}}};
  }
  bool accepts(const std::vector<Attestation>& all) {
    PolicyFacts facts{false, &statement};
    facts.attestations = all;
    return ruled(policy, facts, "statements").ok;
  }
};

TEST_F(VerdictPolicyTest, CountsByItsAuthors) {
  EXPECT_FALSE(accepts({}));
  EXPECT_TRUE(accepts({verdictOf("urn:farm", true, 1)}));
  EXPECT_FALSE(accepts({verdictOf("urn:farm", false, 1)}));
  EXPECT_FALSE(accepts({verdictOf("urn:stranger", true, 1)}));
  EXPECT_FALSE(accepts({verdictOf("urn:stranger", true, 2), verdictOf("urn:farm", false, 1)}));
  EXPECT_TRUE(accepts({verdictOf("urn:stranger", false, 2), verdictOf("urn:farm", true, 1)}));
  EXPECT_TRUE(accepts({verdictOf("urn:second", true, 1), verdictOf("urn:farm", false, 2)})) << "one will do";
  policy.statements[0].authors = {"*"};
  EXPECT_TRUE(accepts({verdictOf("urn:stranger", true, 1)}));
}

TEST_F(VerdictPolicyTest, OnlyAVerificationSummaryIsOne) {
  Attestation other = verdictOf("urn:farm", true, 1);
  other.predicateType = "urn:evaluation";
  EXPECT_FALSE(accepts({other}));
  other = verdictOf("urn:farm", true, 1);
  other.summary.reset();
  EXPECT_FALSE(accepts({other}));
}

// The places in two logs say nothing about each other.
TEST_F(VerdictPolicyTest, OutsideOneLogTheStatedTimesDecide) {
  for (const auto& [first, second] :
       {std::pair("", ""), {"one.example", ""}, {"", "one.example"}, {"one.example", "two.example"}}) {
    EXPECT_TRUE(
        accepts({verdictOf("urn:farm", false, 1, first, 9), verdictOf("urn:farm", true, 2, second, 3)}))
        << first << " and " << second;
    EXPECT_FALSE(
        accepts({verdictOf("urn:farm", false, 2, first, 3), verdictOf("urn:farm", true, 1, second, 9)}))
        << first << " and " << second;
    EXPECT_TRUE(
        accepts({verdictOf("urn:farm", true, 2, first, 3), verdictOf("urn:farm", false, 1, second, 9)}))
        << first << " and " << second;
  }
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
  evidence.logged = false;
  EXPECT_FALSE(countsStatement(policy, evidence));
  policy.minWitnesses = 0;
  evidence = {{}, "k", true};
  EXPECT_TRUE(countsStatement(policy, evidence)) << "a log without witnesses";
  EXPECT_TRUE(countsStatement(anyPolicy(), {{}, "k"})) << "none is asked for";
  facts.evidence = nullptr;
  EXPECT_FALSE(ruled(policy, facts, "requireLog").ok) << "unknown";
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

TEST(Policy, EveryMemberRoundTrips) {
  Policy policy{"p", false, {"*"}, 2, 1, {"*"}, {"*"}, true};
  policy.signers = {"k"};
  policy.minToolchainVersion = "0.2.0";
  policy.maxFallbackPermille = 0;
  policy.partitionTargets = {"cuda:sm_90a"};
  policy.checks = {{"golden", "g", 0.001, 0.25, {}}, {"metric", "top1", {}, {}, 0.75}};
  policy.refuseEmulated = true;
  policy.checkDevices = {CheckedOn::kHardware, CheckedOn::kSoftware};
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
                             {"checkDevices", Json::array()},
                             {"checkDevices", {"gpu"}},
                             {"checkDevices", {"hardware", "hardware"}},
                             {"checkDevices", {"emulated"}},  // which refuseEmulated refuses
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
                             {"minBuilders", "2"},
                             {"minOperators", 0},
                             {"builderIds", Json::array()},
                             {"targets", Json::array()},
                             {"toolchains", Json::array()},
                             {"toolchains", {"kiln-0.1.0"}},
                             {"toolchains", {"sha256:1234"}},
                             {"toolchains", {std::string(64, 'a')}},
                             {"allowDevelopment", "no"},
                             {"apiVersion", "kiln/v2"},
                             {"kind", "TrustRoot"},
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
