#include "manifest/artifact/fixture_list.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/sample_fixtures.h"

namespace kiln {
namespace {

// What is wrong with the sample once `damage` is done to it; "" if nothing.
std::string damaged(const std::function<void(Json&)>& damage) {
  Json json = Json::parse(testing_support::fixtureListOf(testing_support::sampleFixtures()));
  damage(json);
  auto list = parseFixtureList(json.dump());
  return list ? std::string() : list.error().message;
}

void expectDamage(const std::string& part, const std::function<void(Json&)>& damage) {
  EXPECT_NE(damaged(damage).find(part), std::string::npos) << damaged(damage);
}

TEST(FixtureList, ParsesTheSample) {
  const auto contents = testing_support::sampleFixtures();
  auto list = parseFixtureList(testing_support::fixtureListOf(contents));
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->profiles.size(), 1u);
  EXPECT_EQ(list->profiles[0].name, "default");
  EXPECT_EQ(list->profiles[0].inputs, std::vector<std::string>{"default/input_0.npy"});
  EXPECT_EQ(list->profiles[0].outputs, std::vector<std::string>{"default/output_0.npy"});
  ASSERT_EQ(list->files.size(), 2u);
  EXPECT_EQ(list->files[0],
            (FixtureFile{"default/input_0.npy", digestOf(contents.at("default/input_0.npy"))}));
  EXPECT_EQ(list->relativeTolerance, 1e-3);
  EXPECT_EQ(list->absoluteTolerance, 1e-5);
  EXPECT_EQ(list->profiles[0].absoluteTolerances, std::vector<double>{1e-5});
}

TEST(FixtureList, AnOutputMayHaveAToleranceOfItsOwn) {
  Json json = Json::parse(testing_support::fixtureListOf(testing_support::sampleFixtures()));
  json["profiles"][0]["atol"] = {"4e-3"};
  auto list = parseFixtureList(json.dump());
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->profiles[0].absoluteTolerances, std::vector<double>{4e-3});
  EXPECT_EQ(list->absoluteTolerance, 1e-5);
  expectDamage("profiles[0].atol: must have one for each output",
               [](Json& j) { j["profiles"][0]["atol"] = {"1", "1"}; });
  for (const char* number : {"-1", "nan", "1x", "", "inf"})
    expectDamage("profiles[0].atol[0]", [&](Json& j) { j["profiles"][0]["atol"] = {number}; });
  expectDamage("profiles[0].atol", [](Json& j) { j["profiles"][0]["atol"] = "1"; });
}

TEST(FixtureList, MembersAreCompleteAndKnown) {
  for (const char* name : {"version", "files", "profiles", "tolerance"})
    expectDamage(name, [&](Json& j) { j.erase(name); });
  expectDamage("more", [](Json& j) { j["more"] = 1; });
  expectDamage("files[0].more", [](Json& j) { j["files"][0]["more"] = 1; });
  expectDamage("files[0].digest", [](Json& j) { j["files"][0]["digest"] = "sha256:12"; });
  expectDamage("files[0].size", [](Json& j) { j["files"][0]["size"] = "-1"; });
  expectDamage("profiles[0].more", [](Json& j) { j["profiles"][0]["more"] = 1; });
  for (const char* number : {"-1", "nan", "1x", "", "inf"})
    expectDamage("tolerance.rtol", [&](Json& j) { j["tolerance"]["rtol"] = number; });
}

TEST(FixtureList, PathsAreSafeSortedAndListed) {
  for (const char* path : {"../x.npy", "/x.npy", "a//x.npy", "", "fixtures.json", "a/x.bin"})
    expectDamage("files[0].path", [&](Json& j) { j["files"][0]["path"] = path; });
  expectDamage("files[1].path", [](Json& j) { j["files"][1]["path"] = j["files"][0]["path"]; });
  expectDamage("files[1].path", [](Json& j) { std::swap(j["files"][0], j["files"][1]); });
  expectDamage("profiles[0].inputs", [](Json& j) { j["profiles"][0]["inputs"][0] = "default/other.npy"; });
  expectDamage("below a file", [](Json& j) {
    j["files"][0]["path"] = "a.npy";
    j["files"][1]["path"] = "a.npy/b.npy";
  });
}

TEST(FixtureList, SizesAreBounded) {
  expectDamage("more than 256 profiles", [](Json& j) {
    for (int i = 0; i < 256; ++i) j["profiles"].push_back(j["profiles"][0]);
  });
  expectDamage("more than 4095 files", [](Json& j) {
    for (int i = 0; i < 4095; ++i) j["files"].push_back(j["files"][0]);
  });
  EXPECT_FALSE(parseFixtureList(std::string(kMaxFixtureListBytes + 1, ' ')));
}

TEST(FixtureList, DamagedTextNeverPassesForAnother) {
  const std::string good = testing_support::fixtureListOf(testing_support::sampleFixtures());
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(parseFixtureList(std::string_view(good).substr(0, i)));
    std::string flipped = good;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x80);
    EXPECT_FALSE(parseFixtureList(flipped)) << i;
  }
}

}  // namespace
}  // namespace kiln
