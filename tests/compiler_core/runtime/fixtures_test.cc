#include "compiler_core/runtime/session/fixtures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kiln::runtime::test
