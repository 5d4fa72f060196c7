// Each kind of action beside each thing that a policy may open.
#include "coordinator/drivers/sandbox_rule.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/sample_policy.h"

namespace kiln::service {
namespace {

using index::ActionKind;

constexpr ActionKind kKinds[] = {ActionKind::kFetch, ActionKind::kReference, ActionKind::kCompile,
                                 ActionKind::kCheck, ActionKind::kEmulate,   ActionKind::kPlan,
                                 ActionKind::kTune};

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
      {"proc", [](ActionKind kind) { return kind == ActionKind::kCheck || kind == ActionKind::kTune; }},
      {"gpu", [](ActionKind kind) { return kind == ActionKind::kCheck; }}};
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

TEST(SandboxRule, WhereTheOperatorStatesPoliciesNoOtherPasses) {
  const std::string policy = testing_support::samplePolicyText("stated/1");
  const Digest stated = digestOf(policy), other = digestOf("other");
  EXPECT_TRUE(isAllowed(policy, ActionKind::kCompile, {stated}));
  EXPECT_TRUE(isAllowed(policy, ActionKind::kCompile, {other, stated}));
  EXPECT_FALSE(isAllowed(policy, ActionKind::kCompile, {other}));
}

TEST(SandboxRule, WhatIsNoPolicyPassesForNone) {
  EXPECT_FALSE(isAllowed("the manifest, say", ActionKind::kCompile));
  EXPECT_FALSE(isAllowed("", ActionKind::kCompile));
}

}  // namespace
}  // namespace kiln::service
