#include "manifest/tuning/entries.h"

#include <gtest/gtest.h>

#include "tests/support/sample_tuning.h"

namespace kiln {
namespace {

using namespace testing_support;

TuningEntries sample() {
  return {"cpu:x86-64-v4", {{hashOf('1'), "contraction", {{"tile", {48, 128}}}}}};
}

TEST(TuningEntries, AreReadAsTheyAreWritten) {
  const auto read = TuningEntries::fromJson(sample().toJson());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, sample());
  EXPECT_TRUE(read->find(hashOf('1')));
  EXPECT_FALSE(read->find(hashOf('2')));
}

TEST(TuningEntries, HaveADigestOfTargetKernelAndSchedule) {
  const TuningEntry entry = sample().entries.front();
  // sha256sum of the canonical JSON by hand:
  // {"schedule":{"tile":[48,128]},"signature":"sha256:11..","target":"cpu:x86-64-v4","template":"contraction"}
  EXPECT_EQ(entryDigest("cpu:x86-64-v4", entry),
            "sha256:053c2dd0f01e3a47e3c8d4234a2ed1d726bc7e06fc6f6702be7df2b2771b8e6f");
  TuningEntry other = entry;
  other.schedule["tile"] = {48, 64};
  EXPECT_NE(entryDigest("cpu:x86-64-v4", other), entryDigest("cpu:x86-64-v4", entry));
  EXPECT_NE(entryDigest("cpu:x86-64-v3", entry), entryDigest("cpu:x86-64-v4", entry));
}

TEST(TuningEntries, RefuseWhatIsNotTheirForm) {
  const auto refused = [](auto change) {
    Json json = sample().toJson();
    change(json);
    const auto read = TuningEntries::fromJson(json);
    return read ? std::string("accepted") : read.error().message;
  };
  EXPECT_NE(refused([](Json& j) { j["entries"][0]["signature"] = "sha256:1"; }).find("entries[0].signature"),
            std::string::npos);
  EXPECT_NE(refused([](Json& j) { j["entries"][0]["schedule"]["tile"] = {-1}; }).find("knob tile"),
            std::string::npos);
  EXPECT_NE(refused([](Json& j) { j["entries"][0]["schedule"]["tile"] = "96"; }).find("array of integers"),
            std::string::npos);
  EXPECT_NE(refused([](Json& j) { j["entries"].push_back(j["entries"][0]); }).find("must come after"),
            std::string::npos);
  EXPECT_NE(refused([](Json& j) { j["entries"][0]["medianNanoseconds"] = "1"; }).find("medianNanoseconds"),
            std::string::npos);
}

TEST(TuningEntries, MustBeOfThePlan) {
  EXPECT_TRUE(checkEntries(sample(), samplePlan()));
  TuningEntries other = sample();
  other.target = "cpu:x86-64-v3";
  EXPECT_NE(checkEntries(other, samplePlan()).error().message.find("are for cpu:x86-64-v3"),
            std::string::npos);
  other = sample();
  other.entries[0].signature = hashOf('9');
  EXPECT_NE(checkEntries(other, samplePlan()).error().message.find(hashOf('9')), std::string::npos);
  other = sample();
  other.entries[0].schedule = {{"tile", {5, 5}}};
  EXPECT_NE(checkEntries(other, samplePlan()).error().message.find("knob tile 5x5 is outside"),
            std::string::npos);
  other = sample();
  other.entries[0].templateName = "reduction";
  EXPECT_NE(checkEntries(other, samplePlan()).error().message.find("reduction"), std::string::npos);
}

TEST(KernelPlan, IsReadAsItIsWritten) {
  const KernelPlan plan = samplePlan();
  auto read = KernelPlan::fromJson(plan.toJson());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->target, plan.target);
  EXPECT_EQ(read->kernels, plan.kernels);
  Json json = plan.toJson();
  std::swap(json["kernels"][0], json["kernels"][1]);
  EXPECT_NE(KernelPlan::fromJson(json).error().message.find("must come after"), std::string::npos);
  json = plan.toJson();
  json["kernels"][0]["count"] = "0";
  EXPECT_NE(KernelPlan::fromJson(json).error().message.find("kernels[0].count"), std::string::npos);
  json = plan.toJson();
  json["kernels"][0]["knobs"]["tile"].erase(0);
  EXPECT_NE(KernelPlan::fromJson(json).error().message.find("kernels[0].schedule"), std::string::npos)
      << "the default is one of the values";
  json = plan.toJson();
  json["kernels"][0]["knobs"]["tile"] = 7;
  EXPECT_NE(KernelPlan::fromJson(json).error().message.find("kernels[0].knobs"), std::string::npos);
}

}  // namespace
}  // namespace kiln
