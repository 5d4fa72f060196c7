// What a policy asks of an artifact's latest check.
#include <functional>

#include "tests/signing/policy_fixture.h"

namespace kiln::signing {
namespace {

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

TEST(Policy, EveryBoundOfAWantedCheckHolds) {
  Policy policy = anyPolicy();
  policy.requireCheck = true;
  const Provenance facts = provenance();
  std::vector<CheckStatement> checks{check(true, TimePoint{})};
  checks[0].report["items"][0]["measured"] = {
      {"maxAbsolute", "0.5"}, {"maxRelative", "0.25"}, {"accuracy", "0.75"}};
  const auto holds = [&](double absolute, double relative, double accuracy) {
    policy.checks = {{"golden", "", absolute, relative, accuracy}};
    return ruled(policy, {false, &facts, checks}, "checks").ok;
  };
  EXPECT_TRUE(holds(0.5, 0.25, 0.75));
  EXPECT_FALSE(holds(0.4, 0.25, 0.75));
  EXPECT_FALSE(holds(0.5, 0.2, 0.75));
  EXPECT_FALSE(holds(0.5, 0.25, 0.8));
}

TEST(Policy, AVersionIsOneToFourNumbers) {
  using Version = std::vector<std::uint32_t>;
  EXPECT_EQ(parseVersion("7"), Version{7});
  EXPECT_EQ(parseVersion("0.10.2"), (Version{0, 10, 2}));
  EXPECT_EQ(parseVersion("1.2.3.4294967295"), (Version{1, 2, 3, UINT32_MAX}));
  for (const char* bad :
       {"", ".", "1.", ".1", "1..2", "1.2.3.4.5", "4294967296", "1.x", "v1", "1.02", "-1", "1 "})
    EXPECT_FALSE(parseVersion(bad)) << bad;
}

TEST(Policy, AMeasureThatIsNotStatedHoldsNoBound) {
  Policy policy = anyPolicy();
  policy.requireCheck = true;
  const Provenance facts = provenance();
  const std::vector<std::pair<const char*, WantedCheck>> bounds{{"maxAbsolute", {"golden", "", 1.0}},
                                                                {"maxRelative", {"golden", "", {}, 1.0}},
                                                                {"accuracy", {"golden", "", {}, {}, 0.0}}};
  for (const auto& [name, wanted] : bounds) {
    policy.checks = {wanted};
    const auto verdict = [&](const Json& item) {
      std::vector<CheckStatement> checks{check(true, TimePoint{})};
      for (auto member = item.begin(); member != item.end(); ++member)
        checks[0].report["items"][0][member.key()] = *member;
      return ruled(policy, {false, &facts, checks}, "checks");
    };
    EXPECT_TRUE(verdict({{"measured", {{name, "0.5"}}}}).ok) << name;
    EXPECT_FALSE(verdict({{"measured", {{name, "0.5"}}}, {"passed", false}}).ok) << name;
    for (const Json& without :
         {Json::object(), Json{{"measured", Json::object()}}, Json{{"measured", nullptr}},
          Json{{"measured", {{"other", "0.5"}}}}, Json{{"measured", "0.5"}}}) {
      const RuleResult refused = verdict(without);
      EXPECT_FALSE(refused.ok) << without;
      EXPECT_NE(refused.detail.find(std::string("does not state ") + name), std::string::npos)
          << refused.detail;
    }
    for (const Json& noNumber : {Json("x"), Json(0), Json(0.5), Json("-1"), Json("inf"), Json(nullptr)}) {
      const RuleResult refused = verdict({{"measured", {{name, noNumber}}}});
      EXPECT_FALSE(refused.ok) << noNumber;
      EXPECT_NE(refused.detail.find(std::string("no number as ") + name), std::string::npos)
          << refused.detail;
    }
  }
}

TEST(Policy, AWantedCheckIsFoundByKindAndName) {
  Policy policy = anyPolicy();
  policy.requireCheck = true;
  const Provenance facts = provenance();
  const auto holds = [&](const WantedCheck& wanted, const char* kind, const char* name) {
    policy.checks = {wanted};
    std::vector<CheckStatement> checks{check(true, TimePoint{})};
    checks[0].report["items"][0]["kind"] = kind;
    checks[0].report["items"][0]["name"] = name;
    return ruled(policy, {false, &facts, checks}, "checks").ok;
  };
  EXPECT_TRUE(holds({"golden", "g"}, "golden", "g"));
  EXPECT_TRUE(holds({"golden", "g"}, "golden", "g: y"));
  EXPECT_TRUE(holds({"golden"}, "golden", "any"));
  EXPECT_FALSE(holds({"golden", "g"}, "golden", "gg"));
  EXPECT_FALSE(holds({"golden", "g"}, "golden", "g:y"));
  EXPECT_FALSE(holds({"golden", "g"}, "metric", "g"));
  EXPECT_FALSE(holds({"golden", "g"}, "metric", "h"));
  EXPECT_FALSE(holds({"golden"}, "metric", "g"));
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

// A check on Mesa's lavapipe: a real driver, on the processor.
CheckStatement softwareCheck() {
  CheckStatement out = check(true, TimePoint{});
  out.report["device"]["gpu"] = {{"name", "llvmpipe"}, {"api", "vulkan"}, {"type", "software"}};
  return out;
}

TEST(Policy, WhatASoftwareDeviceSaidCountsWhereThePolicyNamesIt) {
  Policy policy = anyPolicy();
  policy.requireCheck = true;
  const Provenance facts = provenance();
  const std::vector<CheckStatement> checks{softwareCheck()};
  const auto verdict = [&](const char* rule) { return ruled(policy, {false, &facts, checks}, rule); };
  EXPECT_TRUE(verdict("requireCheck").ok);
  EXPECT_NE(verdict("requireCheck").detail.find("on a software device"), std::string::npos)
      << "whoever counts it is told";
  policy.refuseEmulated = true;
  EXPECT_FALSE(verdict("requireCheck").ok) << "hardware is demanded, and this is none";
  EXPECT_EQ(verdict("requireCheck").detail, "the artifact is unchecked, but for what a software device said");
  EXPECT_EQ(verdict("refuseEmulated").detail, "1 check on software devices not counted");
  policy.checkDevices = {CheckedOn::kHardware, CheckedOn::kSoftware};
  EXPECT_TRUE(verdict("requireCheck").ok);
  EXPECT_EQ(verdict("checkDevices").detail, "satisfied: every check counts");
  policy.checkDevices = {CheckedOn::kHardware};
  EXPECT_FALSE(verdict("requireCheck").ok);
  policy.refuseEmulated = false;
  EXPECT_FALSE(verdict("requireCheck").ok) << "the list alone demands it too";
}

TEST(Policy, ChecksThatDoNotCountAreToldByWhatTheyRanOn) {
  Policy policy = anyPolicy();
  policy.requireCheck = true;
  policy.checkDevices = {CheckedOn::kSoftware};
  const Provenance facts = provenance();
  std::vector<CheckStatement> checks{check(true, TimePoint{}), check(true, TimePoint{})};
  checks[1].report["device"]["emulated"] = true;
  EXPECT_EQ(ruled(policy, {false, &facts, checks}, "checkDevices").detail,
            "1 emulated check, 1 check on hardware not counted");
  EXPECT_EQ(ruled(policy, {false, &facts, checks}, "requireCheck").detail,
            "the artifact is unchecked, but for what hardware said");
}

}  // namespace
}  // namespace kiln::signing
