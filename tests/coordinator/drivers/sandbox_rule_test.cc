// Each kind of action beside each thing that a policy may open.
#include "coordinator/drivers/sandbox_rule.h"

#include <gtest/gtest.h>

#include <functional>

#include "manifest/statement/sandbox_policy.h"
#include "tests/support/sample_policy.h"

namespace kiln::service {
namespace {

using index::ActionKind;

constexpr ActionKind kKinds[] = {ActionKind::kFetch, ActionKind::kReference, ActionKind::kCompile,
                                 ActionKind::kCheck, ActionKind::kEmulate,   ActionKind::kPlan,
                                 ActionKind::kTune,  ActionKind::kExecute};

bool isAllowed(const std::string& policy, ActionKind kind, const std::vector<Digest>& allowed = {}) {
  const Status checked = checkSandboxPolicy(digestOf(policy), policy, kind, allowed);
  if (!checked) {
    EXPECT_EQ(checked.error().code, Code::kDataLoss);
  }
  return bool(checked);
}

TEST(SandboxRule, WhatIsOpenedIsOpenedToThoseKindsThatNeedIt) {
  const std::pair<const char*, std::function<bool(ActionKind)>> rules[] = {
      {"network", [](ActionKind kind) { return kind == ActionKind::kFetch; }},
      {"proc",
       [](ActionKind kind) {
         return kind == ActionKind::kCheck || kind == ActionKind::kTune || kind == ActionKind::kExecute;
       }},
      {"gpu", [](ActionKind kind) { return kind == ActionKind::kCheck || kind == ActionKind::kTune; }}};
  for (const ActionKind kind : kKinds) {
    EXPECT_TRUE(isAllowed(testing_support::samplePolicyText("closed/1"), kind));
    for (const auto& [member, mayHave] : rules) {
      Json policy = testing_support::samplePolicy("open/1");
      policy[member] = true;
      EXPECT_EQ(isAllowed(*toCanonicalJson(policy), kind), mayHave(kind))
          << member << " " << static_cast<int>(kind);
    }
  }
}

// What may start a shell must not have made an artifact, whatever else its policy says.
TEST(SandboxRule, TheForeignActionsPolicyIsTheirsAlone) {
  Json withTmp = testing_support::samplePolicy("compile/2");
  withTmp["limits"]["tmpBytes"] = "1000";
  Json withoutTmp = testing_support::samplePolicy("compile/2");
  withoutTmp["limits"]["tmpBytes"] = "0";
  for (const ActionKind kind : kKinds) {
    const bool isForeign = kind == ActionKind::kExecute;
    EXPECT_EQ(isAllowed(testing_support::samplePolicyText("execute/1"), kind), isForeign);
    EXPECT_EQ(isAllowed(testing_support::samplePolicyText("execute/2"), kind), isForeign);
    EXPECT_EQ(isAllowed(*toCanonicalJson(withTmp), kind), isForeign) << static_cast<int>(kind);
    EXPECT_TRUE(isAllowed(*toCanonicalJson(withoutTmp), kind));
  }
  Json malformed = testing_support::samplePolicy("execute/1");
  malformed["limits"]["tmpBytes"] = "much";
  EXPECT_FALSE(isAllowed(*toCanonicalJson(malformed), ActionKind::kExecute));
}

TEST(SandboxRule, WhereTheOperatorStatesPoliciesNoOtherPasses) {
  const std::string policy = testing_support::samplePolicyText("stated/1");
  const Digest stated = digestOf(policy), other = digestOf("other");
  EXPECT_TRUE(isAllowed(policy, ActionKind::kCompile, {stated}));
  EXPECT_TRUE(isAllowed(policy, ActionKind::kCompile, {other, stated}));
  EXPECT_FALSE(isAllowed(policy, ActionKind::kCompile, {other}));
}

TEST(SandboxRule, AClusterIsForCompilesAloneWhereTheOperatorAllowsIt) {
  const std::string cluster = *toCanonicalJson(ClusterSandbox{"c.example:443", "", {}}.toJson());
  const auto allowed = [&](ActionKind kind, const std::vector<Digest>& clusters) {
    return bool(checkSandboxPolicy(digestOf(cluster), cluster, kind, {digestOf(cluster)}, clusters));
  };
  for (const ActionKind kind : kKinds) {
    EXPECT_FALSE(allowed(kind, {})) << static_cast<int>(kind);
    EXPECT_FALSE(allowed(kind, {digestOf("another cluster")})) << static_cast<int>(kind);
    EXPECT_EQ(allowed(kind, {digestOf(cluster)}), kind == ActionKind::kCompile) << static_cast<int>(kind);
  }
  // What is allowed to clusters is nothing to Kiln's own sandboxes.
  const std::string own = testing_support::samplePolicyText("stated/1");
  EXPECT_FALSE(
      checkSandboxPolicy(digestOf(own), own, ActionKind::kCompile, {digestOf("other")}, {digestOf(own)}));
}

TEST(SandboxRule, WhatIsNoPolicyPassesForNone) {
  EXPECT_FALSE(isAllowed("the manifest, say", ActionKind::kCompile));
  EXPECT_FALSE(isAllowed("", ActionKind::kCompile));
}

}  // namespace
}  // namespace kiln::service
