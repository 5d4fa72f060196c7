#include "manifest/tuning/catalogue.h"

#include <gtest/gtest.h>

#include "tests/support/sample_tuning.h"

namespace kiln {
namespace {

using namespace testing_support;

// The sample's first kernel alone: the one that another schedule was faster for.
TuningRecord decided() {
  TuningRecord record = sampleRecord();
  record.kernels.pop_back();
  return record;
}

std::string textOf(const TuningRecord& record) {
  return toCanonicalJson(record.toJson()).value();
}

CatalogueRecord listed(const TuningRecord& record) {
  return {record.target, digestOf(textOf(record))};
}

std::string refusal(const CatalogueRecord& named, std::string_view text, CatalogueEntries entries = {}) {
  const std::size_t before = entries.size();
  const Status added = addCatalogueRecord(named, text, entries);
  EXPECT_EQ(entries.size(), before) << "nothing of a refused record is taken";
  return added ? "accepted" : added.error().message;
}

TEST(TuningCatalogue, IsReadAsItIsWritten) {
  const TuningCatalogue catalogue{{{"cpu:x86-64-v3", digestOf("a")}, {"cpu:x86-64-v4", digestOf("b")}}};
  const auto read = TuningCatalogue::fromJson(catalogue.toJson());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, catalogue);
  EXPECT_EQ(catalogueRecordFile(digestOf("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.json");
}

TEST(TuningCatalogue, RefusesWhatIsNotItsForm) {
  const TuningCatalogue catalogue{{{"cpu:x86-64-v3", digestOf("a")}, {"cpu:x86-64-v4", digestOf("b")}}};
  const auto refused = [&](auto change) {
    Json json = catalogue.toJson();
    change(json);
    const auto read = TuningCatalogue::fromJson(json);
    return read ? std::string("accepted") : read.error().message;
  };
  EXPECT_NE(refused([](Json& j) { std::swap(j["records"][0], j["records"][1]); }).find("must come after"),
            std::string::npos);
  EXPECT_NE(refused([](Json& j) { j["records"].push_back(j["records"][1]); }).find("must come after"),
            std::string::npos);
  EXPECT_NE(refused([](Json& j) { j["records"][0]["size"] = "4194305"; }).find("4 MiB"), std::string::npos);
  EXPECT_NE(refused([](Json& j) { j["records"][0]["digest"] = "../../etc"; }).find("records[0]"),
            std::string::npos);
  EXPECT_NE(refused([](Json& j) { j["records"][0]["path"] = "x"; }).find("path"), std::string::npos);
  EXPECT_NE(refused([](Json& j) { j["records"][0]["target"] = std::string(257, 'x'); }).find("256 bytes"),
            std::string::npos);
  EXPECT_NE(refused([](Json& j) {
              Json one = j["records"][0];
              j["records"] = Json::array();
              for (int i = 0; i < 129; ++i) j["records"].push_back(one);
            }).find("more than 128"),
            std::string::npos);
}

TEST(TuningCatalogue, ARecordSaysWhichDefaultItBeat) {
  CatalogueEntries entries;
  ASSERT_TRUE(addCatalogueRecord(listed(decided()), textOf(decided()), entries));
  ASSERT_EQ(entries.size(), 1u);
  const CatalogueEntry& entry = entries.at(hashOf('1'));
  EXPECT_EQ(entry.target, "cpu:x86-64-v4");
  EXPECT_EQ(entry.entry.schedule, (Schedule{{"tile", {48, 128}}}));
  EXPECT_EQ(entry.insteadOf, (Schedule{{"tile", {96, 256}}}));
}

TEST(TuningCatalogue, ARecordWithAChangedByteIsRefused) {
  const CatalogueRecord named = listed(decided());
  const std::string text = textOf(decided());
  for (std::size_t at = 0; at < text.size(); at += 7) {
    std::string changed = text;
    changed[at] ^= 1;
    EXPECT_NE(refusal(named, changed).find("it was changed"), std::string::npos) << at;
  }
  EXPECT_NE(refusal(named, text.substr(1)).find("it was changed"), std::string::npos);
}

TEST(TuningCatalogue, ARecordIsOfItsTargetAndDecided) {
  CatalogueRecord other = listed(decided());
  other.target = "cpu:x86-64-v3";
  EXPECT_NE(refusal(other, textOf(decided())).find("is for cpu:x86-64-v4"), std::string::npos);
  TuningRecord emulated = decided();
  emulated.device.kind = "emulated";
  EXPECT_NE(refusal(listed(emulated), textOf(emulated)).find("emulated"), std::string::npos);
  const TuningRecord both = sampleRecord();  // the second kernel's default is best
  EXPECT_NE(refusal(listed(both), textOf(both)).find("nothing was faster"), std::string::npos);
  CatalogueEntries entries;
  ASSERT_TRUE(addCatalogueRecord(listed(decided()), textOf(decided()), entries));
  TuningRecord again = decided();
  again.device.name = "another processor";
  EXPECT_NE(refusal(listed(again), textOf(again), entries).find("another record has kernel"),
            std::string::npos);
  const std::string spaced = " " + textOf(decided());
  EXPECT_NE(refusal({"cpu:x86-64-v4", digestOf(spaced)}, spaced), "accepted") << "canonical JSON alone";
}

TEST(KernelPlan, SaysWhatTheCatalogueHas) {
  KernelPlan plan = samplePlan();
  EXPECT_FALSE(plan.toJson()["kernels"][0].contains("catalogue")) << "a plan without one is what it was";
  plan.kernels[0].catalogue = Schedule{{"tile", {48, 128}}};
  const auto read = KernelPlan::fromJson(plan.toJson());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->kernels, plan.kernels);
  plan.kernels[0].catalogue = Schedule{{"tile", {47, 128}}};
  EXPECT_FALSE(KernelPlan::fromJson(plan.toJson())) << "a value that the plan does not list";
}

}  // namespace
}  // namespace kiln
