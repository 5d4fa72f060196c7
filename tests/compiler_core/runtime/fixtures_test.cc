#include "compiler_core/runtime/session/fixtures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/runtime/session/artifact.h"
#include "tests/compiler_core/runtime/test_artifact.h"

namespace kiln::runtime::test {
namespace {

using testing::HasSubstr;

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

TEST(Fixtures, BoundariesAreAsTheManifestToo) {
  TestArtifact artifact;
  artifact.writeFixtures();
  const std::string path = artifact.path() + "/fixtures/fixtures.json";
  auto json = parseJson(*readDocument(path));
  ASSERT_TRUE(json);
  Json boundary = json->at("profiles").at(0);
  boundary["name"] = boundary["name"].get<std::string>() + kAtMax;
  json->at("profiles").push_back(boundary);
  artifact.write("fixtures/fixtures.json", json->dump());
  EXPECT_TRUE(readFixtureList(artifact.path(), artifact.manifest));
  json->at("profiles").back()["inputs"] = Json::array();
  artifact.write("fixtures/fixtures.json", json->dump());
  const auto refused = readFixtureList(artifact.path(), artifact.manifest);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("/max\" has 0 inputs"));
}

}  // namespace
}  // namespace kiln::runtime::test
