#include "compiler_core/runtime/session/fixtures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/runtime/test_artifact.h"

namespace kiln::runtime::test {
namespace {

using testing::HasSubstr;

std::string list(const std::string& profiles,
                 const std::string& tolerance = R"({"rtol":"1e-3","atol":"0"})") {
  return R"({"version":"1","profiles":)" + profiles + R"(,"tolerance":)" + tolerance + "}";
}

TEST(Fixtures, ParsesTheList) {
  const auto parsed = parseFixtureList(list(R"([{"name":"a","inputs":["a/i.npy"],"outputs":[]}])"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->profiles.at(0).profile, "a");
  EXPECT_EQ(parsed->profiles.at(0).inputs, std::vector<std::string>{"a/i.npy"});
  EXPECT_EQ(parsed->tolerance.relative, 1e-3);
  EXPECT_EQ(parsed->tolerance.absolute, 0);
}

TEST(Fixtures, RefusesMalformedLists) {
  const auto message = [](const std::string& text) {
    const auto parsed = parseFixtureList(text);
    return parsed ? "accepted" : parsed.error().message;
  };
  EXPECT_THAT(message("{}"), HasSubstr("version"));
  EXPECT_THAT(message(list(R"([{"name":"a","inputs":["../x"],"outputs":[]}])")),
              HasSubstr("profiles[0].inputs"));
  EXPECT_THAT(message(list(R"([{"name":"a","inputs":[],"outputs":[],"more":1}])")),
              HasSubstr("profiles[0].more"));
  EXPECT_THAT(message(list("[]", R"({"rtol":"-1","atol":"0"})")), HasSubstr("tolerance.rtol"));
  EXPECT_THAT(message(list("[]", R"({"rtol":"nan","atol":"0"})")), HasSubstr("tolerance.rtol"));
  EXPECT_THAT(message(list("[]", R"({"rtol":"1x","atol":"0"})")), HasSubstr("tolerance.rtol"));
}

TEST(Fixtures, EveryProfileNeedsOne) {
  TestArtifact artifact;
  artifact.writeFixtures();
  EXPECT_TRUE(readFixtureList(artifact.path(), artifact.manifest));
  artifact.manifest.spec.profiles.push_back({"large", {}});
  const auto missing = readFixtureList(artifact.path(), artifact.manifest);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kDataLoss);
  EXPECT_THAT(missing.error().message, HasSubstr("no fixture for the profile \"large\""));
}

}  // namespace
}  // namespace kiln::runtime::test
