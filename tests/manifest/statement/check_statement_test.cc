#include "manifest/statement/check_statement.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

CheckStatement sample() {
  CheckStatement check;
  check.builderId = "urn:kiln:builder:test";
  check.invocationId = "job-1";
  check.action = digestOf("action");
  check.plan = digestOf("{}");
  check.worker = "w1";
  check.operatorName = "acme";
  check.receipt = digestOf("receipt");
  check.startedOn = *parseRfc3339("2026-11-20T05:00:00Z");
  check.finishedOn = *parseRfc3339("2026-11-20T05:00:09Z");
  check.report = *parseStrictJson(
      R"({"passed":false,"items":[{"kind":"fixture","name":"profile default: y","passed":true,"detail":"8 elements",)"
      R"("measured":{"maxAbsolute":"0.000001","maxRelative":"0.01","rmsRelative":"0.0000004"}},)"
      R"({"kind":"limit","name":"load time","passed":false,"detail":"2 s, at most 1 s wanted"}],)"
      R"("measured":{"loadSeconds":"2.000000000"},"device":{"threads":2}})");
  return check;
}

TEST(CheckStatement, GoesThroughJsonUnchanged) {
  const auto text = checkStatement(digestOf("artifact"), sample());
  ASSERT_TRUE(text) << text.error().message;
  const auto statement = parseStatement(*text);
  ASSERT_TRUE(statement);
  EXPECT_EQ(statement->predicateType, kCheckType);
  EXPECT_EQ(statement->subjects.at(0).sha256, digestOf("artifact").hash);
  const auto check = CheckStatement::fromJson(statement->predicate);
  ASSERT_TRUE(check) << check.error().message;
  EXPECT_EQ(check->toJson(), sample().toJson());
  EXPECT_FALSE(check->passed());
  EXPECT_EQ(check->failures(), "limit load time (2 s, at most 1 s wanted)");
}

TEST(CheckStatement, SaysWhatItWasMadeOn) {
  const auto on = [](const Json& device) { return checkedOn({{"device", device}}); };
  const auto typed = [&](const Json& type) { return on({{"gpu", {{"name", "d"}, {"type", type}}}}); };
  EXPECT_EQ(on(Json::object()), CheckedOn::kHardware) << "the processor itself";
  EXPECT_EQ(on({{"gpu", {{"name", "d"}}}}), CheckedOn::kHardware) << "of CUDA";
  for (const char* type : {"discrete", "integrated", "virtual"}) EXPECT_EQ(typed(type), CheckedOn::kHardware);
  for (const Json& type : {Json("software"), Json("other"), Json("Discrete"), Json(""), Json(1), Json()})
    EXPECT_EQ(typed(type), CheckedOn::kSoftware) << type << ": nothing but what is named passes for hardware";
  EXPECT_EQ(on({{"gpu", "d"}}), CheckedOn::kSoftware);
  EXPECT_EQ(on({{"gpu", {{"type", "discrete"}}}, {"emulated", true}}), CheckedOn::kEmulated);
  for (const CheckedOn each : {CheckedOn::kHardware, CheckedOn::kSoftware, CheckedOn::kEmulated})
    EXPECT_EQ(parseCheckedOn(checkedOnText(each)), each);
  EXPECT_FALSE(parseCheckedOn("gpu"));
}

TEST(CheckStatement, AGpuIsNamedByTheTextsOfItsInterface) {
  const auto named = [](const Json& gpu) { return checkedGpu({{"device", {{"gpu", gpu}}}}); };
  EXPECT_EQ((*named({{"name", "d"}, {"computeCapability", "9.0"}}))->arch, "sm_90");
  EXPECT_EQ((*named({{"name", "d"}, {"computeCapability", "10.3"}}))->arch, "sm_103");
  for (const char* none : {"90", "9.", ".0", "9.0.0.0", "9.00", "9.-1", "09.0", "", "sm.90"})
    EXPECT_EQ((*named({{"name", "d"}, {"computeCapability", none}}))->arch, "") << none;
  EXPECT_FALSE(named({{"name", "d"}}));
  Json vulkan{{"name", "d"},        {"api", "vulkan"},      {"apiVersion", "1.3.230"},
              {"type", "software"}, {"driver", "llvmpipe"}, {"conformance", "1.3.1.1"}};
  const auto gpu = named(vulkan);
  ASSERT_TRUE(gpu && *gpu);
  EXPECT_EQ((*gpu)->arch, "vulkan1.3");
  EXPECT_EQ((*gpu)->type, "software");
  EXPECT_EQ((*gpu)->version, "Vulkan 1.3.230");
  for (const char* member : {"apiVersion", "type", "driver", "conformance"}) {
    Json without = vulkan;
    without.erase(member);
    const auto refused = named(without);
    ASSERT_FALSE(refused) << member;
    EXPECT_NE(refused.error().message.find(member), std::string::npos) << refused.error().message;
  }
  vulkan["api"] = "metal";
  EXPECT_FALSE(named(vulkan));
}

TEST(CheckStatement, RefusesAReportThatContradictsItself) {
  CheckStatement check = sample();
  check.report["passed"] = true;
  EXPECT_FALSE(checkStatement(digestOf("artifact"), check));
  check = sample();
  check.report["items"] = Json::array();
  EXPECT_FALSE(checkReport(check.report)) << "nothing was checked";
  check = sample();
  check.report["more"] = 1;
  EXPECT_FALSE(checkReport(check.report));
}

TEST(CheckStatement, NamesTheMemberThatIsWrong) {
  for (const char* name :
       {"checker", "invocationId", "action", "plan", "receipt", "startedOn", "finishedOn", "report"}) {
    Json predicate = sample().toJson();
    predicate[name] = 7;
    const auto check = CheckStatement::fromJson(predicate);
    ASSERT_FALSE(check) << name;
    EXPECT_NE(check.error().message.find(name), std::string::npos) << check.error().message;
  }
}

}  // namespace
}  // namespace kiln
