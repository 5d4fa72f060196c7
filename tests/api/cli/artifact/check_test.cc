// `kiln check`: fixtures, goldens, metrics and limits of a signed artifact on this machine; exit 10 when one
// does not hold.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/api/cli/signed_program.h"

namespace kiln {
namespace {

using runtime::test::expectedOutput;
using runtime::test::floats;
using runtime::test::kColumns;
using runtime::test::kRows;
using runtime::test::sampleInput;

struct KilnCheck : testing_support::SignedProgram {
  testing_support::KilnResult check(const std::string& plan, std::vector<std::string> more = {}) {
    std::ofstream(directory / "check.json") << plan;
    std::vector<std::string> arguments{"check", artifact.path(), "--plan", "check.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return kiln(arguments);
  }
  Json checkJson(const std::string& plan) {
    const auto json = parseJson(check(plan, {"--json"}).out);
    EXPECT_TRUE(json);
    if (!json) return {};
    return json->contains("error") ? json->at("error").at("details").at("report") : *json;
  }
  static const Json* item(const Json& report, const std::string& kind) {
    for (const Json& one : report.at("items"))
      if (one.at("kind") == kind) return &one;
    return nullptr;
  }
};

TEST_F(KilnCheck, TheFixturesAloneAreACheck) {
  const auto result = kiln({"check", artifact.path(), "--report", "report.json"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_NE(result.out.find("passed"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("memory: planned"), std::string::npos) << result.out;
  std::ifstream file(directory / "report.json");
  const auto report = parseJson(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->at("passed"), true);
  EXPECT_EQ(report->at("measured").at("steady").at("runs"), 20);
  EXPECT_EQ(report->at("artifact"), digestOfFile(artifact / "artifact.json")->text());
}

TEST_F(KilnCheck, AFixtureThatDiffersIsNamedWithExit10) {
  artifact.writeFixtures(1.0f);
  sign();
  const auto result = kiln({"check", artifact.path()});
  EXPECT_EQ(result.exit, 10) << result.err;
  EXPECT_NE(result.out.find("FAILED  fixture  profile default: y"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("1 of 2048 elements differ"), std::string::npos) << result.out;
}

TEST_F(KilnCheck, GoldensAreComparedWithinTheirOwnTolerance) {
  auto golden = expectedOutput(sampleInput());
  golden.back() += 0.5f;
  save("y.npy", floats({kRows, kColumns}, golden));
  const std::string head = R"({"goldens":[{"name":"g","inputs":{"x":"x.npy"},"outputs":{"y":"y.npy"})";
  const Json strict = checkJson(head + "}]}");
  ASSERT_TRUE(item(strict, "golden"));
  EXPECT_EQ(item(strict, "golden")->at("passed"), false);
  EXPECT_EQ(check(head + "}]}").exit, 10);
  EXPECT_EQ(check(head + R"(,"tolerance":{"rtol":"0","atol":"0.6"}}]})").exit, 0);
}

TEST_F(KilnCheck, AMetricHasAThreshold) {
  // 8 rows make 8 predictions per run; one row of labels per element would not fit.
  save("labels.npy", {DType::kI64, {1}, std::vector<std::uint8_t>(8)});
  const auto result = check(
      R"({"metrics":[{"kind":"accuracy","name":"m","inputs":{"x":"x.npy"},"output":"y","labels":"labels.npy",)"
      R"("threshold":"0.5"}]})");
  EXPECT_EQ(result.exit, 2);
  EXPECT_NE(result.err.find("metric \"m\": input \"x\""), std::string::npos) << result.err;
}

TEST_F(KilnCheck, LimitsAreChecked) {
  const Json report = checkJson(R"({"limits":{"steadySeconds":"1000","peakBytes":1},"runs":3})");
  EXPECT_EQ(report.at("passed"), false);
  EXPECT_EQ(report.at("measured").at("steady").at("runs"), 3);
  for (const Json& one : report.at("items"))
    if (one.at("kind") == "limit") {
      EXPECT_EQ(one.at("passed"), one.at("name") != "observed peak") << one.dump();
    }
}

TEST_F(KilnCheck, APlanThatDoesNotFitNamesThePlace) {
  EXPECT_NE(check(R"({"golden":[]})").err.find("check.json"), std::string::npos);
  EXPECT_EQ(check(R"({"golden":[]})").exit, 2);
  const auto missing =
      check(R"({"goldens":[{"name":"g","inputs":{"x":"none.npy"},"outputs":{"y":"none.npy"}}]})");
  EXPECT_EQ(missing.exit, 6);
  EXPECT_NE(missing.err.find("golden \"g\""), std::string::npos) << missing.err;
  const auto unknown = check(R"({"goldens":[{"name":"g","inputs":{"z":"x.npy"},"outputs":{"y":"x.npy"}}]})");
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_NE(unknown.err.find("\"z\""), std::string::npos) << unknown.err;
}

struct KilnCheckCounted : testing_support::SignedProgramOf<runtime::test::CountingArtifact> {};

TEST_F(KilnCheckCounted, AGoldenWithAnIndexOutsideItsDimensionIsExit10) {
  std::ofstream(directory / "within.json") << R"({"goldens":[{"name":"within","inputs":{"x":"x.npy"},)"
                                              R"("outputs":{"y":"y.npy"}}]})";
  save("y.npy", floats({kRows, kColumns}, expectedOutput(sampleInput())));
  const auto within = kiln({"check", artifact.path(), "--plan", "within.json"});
  EXPECT_EQ(within.exit, 0) << within.err;
  EXPECT_NE(within.out.find("passed  indices"), std::string::npos) << within.out;

  auto x = sampleInput();
  x[4] = runtime::test::kFar;
  save("far.npy", floats({kRows, kColumns}, x));
  save("far_y.npy", floats({kRows, kColumns}, expectedOutput(x)));
  std::ofstream(directory / "far.json") << R"({"goldens":[{"name":"far","inputs":{"x":"far.npy"},)"
                                           R"("outputs":{"y":"far_y.npy"}}]})";
  const auto result = kiln({"check", artifact.path(), "--plan", "far.json"});
  EXPECT_EQ(result.exit, 10) << result.err;
  EXPECT_NE(result.out.find("FAILED  indices"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("1 outside in goldens and metrics, 0 in fixtures (at \"lookup\": 1)"),
            std::string::npos)
      << result.out;
}

}  // namespace
}  // namespace kiln
