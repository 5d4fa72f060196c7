#include "manifest/tuning/record.h"

#include <gtest/gtest.h>

#include "tests/support/sample_tuning.h"

namespace kiln {
namespace {

using namespace testing_support;

using Reason = TuningChoice::Reason;
using State = TuningCandidate::State;

TunedKernel kernelOf(std::vector<TuningCandidate> candidates) {
  return {hashOf('1'), "contraction", std::move(candidates)};
}

TEST(Choose, TakesWhatIsFasterBeyondNoise) {
  const Schedule a{{"tile", {1}}}, b{{"tile", {2}}}, c{{"tile", {3}}};
  EXPECT_EQ(choose(kernelOf({finalist(a, 1000, 10), finalist(b, 900, 10), finalist(c, 800, 10)})),
            (TuningChoice{Reason::kFaster, 2}));
  EXPECT_EQ(choose(kernelOf({finalist(a, 1000, 10), finalist(b, 900, 10), finalist(c, 900, 10)})),
            (TuningChoice{Reason::kFaster, 1}))
      << "the earlier one of equals";
  EXPECT_EQ(choose(kernelOf({finalist(a, 1000, 0), finalist(b, 980, 0)})),
            (TuningChoice{Reason::kDefaultBest, 0}))
      << "2 % are not enough";
  EXPECT_EQ(choose(kernelOf({finalist(a, 1000, 0), finalist(b, 979, 0)})),
            (TuningChoice{Reason::kFaster, 1}));
  EXPECT_EQ(choose(kernelOf({finalist(a, 1000, 60), finalist(b, 900, 40)})),
            (TuningChoice{Reason::kDefaultBest, 0}))
      << "the spreads overlap";
  EXPECT_EQ(choose(kernelOf({finalist(a, 1000, 251), finalist(b, 100, 1)})),
            (TuningChoice{Reason::kTooNoisy, 0}));
}

TEST(Choose, WantsBothMeasuredInTurn) {
  const Schedule a{{"tile", {1}}}, b{{"tile", {2}}};
  TuningCandidate first = finalist(b, 10, 0);
  first.state = State::kMeasured;
  EXPECT_EQ(choose(kernelOf({finalist(a, 1000, 10), first})), (TuningChoice{Reason::kNotMeasured, 0}));
  first.state = State::kWrong;
  EXPECT_EQ(choose(kernelOf({finalist(a, 1000, 10), first})), (TuningChoice{Reason::kNotMeasured, 0}));
  EXPECT_EQ(choose(kernelOf({finalist(a, 1000, 10), first, finalist({{"tile", {3}}}, 990, 1)})),
            (TuningChoice{Reason::kDefaultBest, 0}));
  TuningCandidate standard = finalist(a, 1000, 10);
  standard.state = State::kFailed;
  EXPECT_EQ(choose(kernelOf({standard, finalist(b, 10, 0)})), (TuningChoice{Reason::kNotMeasured, 0}));
}

TEST(TuningRecord, IsReadAsItIsWritten) {
  const TuningRecord record = sampleRecord();
  const Json json = record.toJson();
  EXPECT_EQ(json["kernels"][0]["reason"], "faster");
  EXPECT_EQ(json["kernels"][0]["chosen"], 1);
  EXPECT_EQ(json["kernels"][1]["reason"], "default is best");
  ASSERT_TRUE(toCanonicalJson(json));
  const auto read = TuningRecord::fromJson(json);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, record);
}

TEST(TuningRecord, RefusesAChangedFigure) {
  const auto refused = [](auto change) {
    Json json = sampleRecord().toJson();
    change(json["kernels"][0]);
    const auto read = TuningRecord::fromJson(json);
    return read ? std::string("accepted") : read.error().message;
  };
  for (const std::string& message :
       {refused([](Json& k) { k["candidates"][1]["medianNanoseconds"] = "995"; }),
        refused([](Json& k) { k["candidates"][0]["spreadNanoseconds"] = "400"; }),
        refused([](Json& k) { k["chosen"] = 0; }), refused([](Json& k) { k["reason"] = "too noisy"; }),
        refused([](Json& k) { k["candidates"][1]["state"] = "measured"; })}) {
    EXPECT_NE(message.find("kernels[0].chosen"), std::string::npos) << message;
    EXPECT_NE(message.find("was changed"), std::string::npos) << message;
  }
  EXPECT_NE(refused([](Json& k) { k["candidates"][3]["medianNanoseconds"] = "1"; }).find("candidates[3]"),
            std::string::npos)
      << "what was not measured has no figure";
  EXPECT_NE(refused([](Json& k) {
              k["candidates"][2]["schedule"] = k["candidates"][0]["schedule"];
            }).find("stands there twice"),
            std::string::npos);
  EXPECT_NE(refused([](Json& k) {
              k["candidates"][2]["medianNanoseconds"] = "9999999999999999999";
            }).find("medianNanoseconds"),
            std::string::npos);
}

TEST(TuningRecord, SaysHowFarResultsMayBeFromTheDefaults) {
  EXPECT_FALSE(sampleRecord().toJson().at("method").contains("tolerance"));
  TuningRecord record = sampleRecord();
  record.method.tolerance = "1e-4";
  const Json json = record.toJson();
  ASSERT_TRUE(TuningRecord::fromJson(json));
  EXPECT_EQ(*TuningRecord::fromJson(json), record);
  for (const char* text : {"", "0", "1", "-1e-4", "some", "0.00010000000000000"}) {
    Json other = json;
    other["method"]["tolerance"] = text;
    const auto read = TuningRecord::fromJson(other);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message.find("method.tolerance"), std::string::npos) << read.error().message;
  }
}

TEST(TuningRecord, MustBeOfThePlan) {
  EXPECT_TRUE(checkRecord(sampleRecord(), samplePlan()));
  TuningRecord other = sampleRecord();
  other.target = "cpu:x86-64-v3";
  EXPECT_NE(checkRecord(other, samplePlan()).error().message.find("is for cpu:x86-64-v3"), std::string::npos);
  other = sampleRecord();
  other.kernels[1].signature = hashOf('9');
  EXPECT_NE(checkRecord(other, samplePlan()).error().message.find(hashOf('9')), std::string::npos);
  other = sampleRecord();
  std::swap(other.kernels[0].candidates[0], other.kernels[0].candidates[1]);
  EXPECT_NE(checkRecord(other, samplePlan()).error().message.find("does not begin with its default"),
            std::string::npos);
}

TEST(TuningRecord, HasOnlyKnobsOfThePlan) {
  TuningRecord other = sampleRecord();
  other.kernels[0].candidates[1].schedule = {{"tile", {7, 7}}};
  EXPECT_NE(checkRecord(other, samplePlan()).error().message.find("knob tile 7x7 is outside"),
            std::string::npos);
  other.kernels[0].candidates[1].schedule = {{"tile", {48, 128}}, {"split", {4}}};
  EXPECT_NE(checkRecord(other, samplePlan()).error().message.find("has no knob split"), std::string::npos);
  KernelPlan plan = samplePlan();
  plan.kernels[0].schedule["pack"] = {0};
  plan.kernels[0].knobs["pack"] = {{0}, {1}};
  other = sampleRecord();
  other.kernels[0].candidates[0].schedule["pack"] = {0};
  EXPECT_NE(checkRecord(other, plan).error().message.find("knob pack is missing"), std::string::npos);
}

TEST(TuningRecord, SaysWhereADevicesEventsToldTheTime) {
  EXPECT_FALSE(sampleRecord().toJson().at("method").contains("timer"));
  TuningRecord record = sampleRecord();
  record.method.byEvents = true;
  Json json = record.toJson();
  EXPECT_EQ(*TuningRecord::fromJson(json), record);
  json["method"]["timer"] = "clock";
  EXPECT_FALSE(TuningRecord::fromJson(json));
}

TEST(TuningRecord, GivesEntriesOfWhatIsFaster) {
  const TuningEntries entries = entriesOf(sampleRecord());
  EXPECT_EQ(entries, (TuningEntries{"cpu:x86-64-v4", {{hashOf('1'), "contraction", {{"tile", {48, 128}}}}}}));
  EXPECT_TRUE(checkEntries(entries, samplePlan()));
  TuningRecord emulated = sampleRecord();
  emulated.device.kind = "emulated";
  EXPECT_TRUE(entriesOf(emulated).entries.empty()) << "its times say nothing";
}

}  // namespace
}  // namespace kiln
