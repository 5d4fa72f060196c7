#include <gtest/gtest.h>

#include "compiler_core/runtime/check/check.h"

namespace kiln::runtime {
namespace {

TEST(CheckPlan, ReadsEveryMember) {
  const auto plan = parseCheckPlan(
      R"({"goldens":[{"name":"a","inputs":{"x":"in/x.npy"},"outputs":{"y":"y.npy"},)"
      R"("tolerance":{"rtol":"1e-3","atol":"0.5"}}],)"
      R"("metrics":[{"kind":"accuracy","name":"m","inputs":{"x":"many.npy"},"output":"y","labels":"l.npy",)"
      R"("threshold":"0.97"}],"limits":{"loadSeconds":"1.5","peakBytes":"1024"},"runs":7})");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->goldens.at(0).tolerance.relative, 1e-3);
  EXPECT_EQ(plan->goldens.at(0).tolerance.absolute, 0.5);
  EXPECT_EQ(plan->metrics.at(0).threshold, 0.97);
  EXPECT_EQ(plan->limits.loadSeconds, 1.5);
  EXPECT_EQ(plan->limits.peakBytes, 1024u);
  EXPECT_FALSE(plan->limits.steadySeconds);
  EXPECT_EQ(plan->runs, 7);
  EXPECT_EQ(plan->files(), (std::vector<std::string>{"in/x.npy", "l.npy", "many.npy", "y.npy"}));
}

// Members are ASCII everywhere; names of tensors need not be.
TEST(CheckPlan, NamesTensorsInAnyAlphabet) {
  const auto plan = parseCheckPlan(
      R"({"goldens":[{"name":"a","inputs":[{"tensor":"вход","file":"x.npy"},{"tensor":"b","file":"b.npy"}],)"
      R"("outputs":{"y":"y.npy"}}]})");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->goldens.at(0).inputs, (TensorFiles{{"b", "b.npy"}, {"вход", "x.npy"}}));
  EXPECT_EQ(plan->files(), (std::vector<std::string>{"b.npy", "x.npy", "y.npy"}));
}

TEST(CheckPlan, RefusesWithThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"goldens":[{"name":"a","inputs":{"x":"../x.npy"},"outputs":{"y":"y.npy"}}]})",
       "goldens[0].inputs.x"},
      {R"({"goldens":[{"name":"a","inputs":{},"outputs":{"y":"y.npy"}}]})", "goldens[0].inputs"},
      {R"({"goldens":[{"name":"a","inputs":[],"outputs":{"y":"y.npy"}}]})", "goldens[0].inputs"},
      {R"({"goldens":[{"name":"a","inputs":[{"tensor":"x","file":"/x.npy"}],"outputs":{"y":"y.npy"}}]})",
       "goldens[0].inputs[0].file"},
      {R"({"goldens":[{"name":"a","inputs":[{"tensor":"x","file":"a.npy"},{"tensor":"x","file":"b.npy"}]}]})",
       "goldens[0].inputs[1].tensor"},
      {R"({"metrics":[{"kind":"f1","name":"m"}]})", "metrics[0].kind"},
      {R"({"limits":{"steadySeconds":"fast"}})", "limits.steadySeconds"},
      {R"({"limits":{"fastSeconds":"1"}})", "limits.fastSeconds"},
      {R"({"runs":0})", "runs"},
      {R"({"runs":1000000})", "runs"},
      {R"({"other":1})", "other"},
  };
  for (const auto& [text, place] : cases) {
    const auto plan = parseCheckPlan(text);
    ASSERT_FALSE(plan) << text;
    EXPECT_EQ(plan.error().code, Code::kInvalidArgument);
    EXPECT_NE(plan.error().message.find(place), std::string::npos) << plan.error().message;
  }
  const auto above = parseCheckPlan(
      R"({"metrics":[{"kind":"accuracy","name":"m","inputs":{"x":"x.npy"},"output":"y","labels":"l.npy",)"
      R"("threshold":"1.5"}]})");
  EXPECT_FALSE(above);
}

TEST(CheckReport, FailsWithOneItem) {
  CheckReport report;
  EXPECT_TRUE(report.passed());
  report.items = {{"fixture", "a", true, ""}, {"limit", "b", false, "too slow"}};
  report.steady = {3, 0.001, 0.002, 0.0025};
  EXPECT_FALSE(report.passed());
  const Json json = report.toJson();
  EXPECT_EQ(json.at("passed"), false);
  EXPECT_EQ(json.at("items").at(1).at("detail"), "too slow");
  EXPECT_EQ(json.at("measured").at("steady").at("medianSeconds"), "0.002000000");
}

}  // namespace
}  // namespace kiln::runtime
