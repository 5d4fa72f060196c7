#include "signing/policy/policy.h"

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
