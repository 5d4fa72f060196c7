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
