// Indices outside their dimension that a program counts: counters by session and node, checked sessions, and
// programs that count otherwise than their manifest says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/runtime/runtime.h"
#include "tests/compiler_core/runtime/failure.h"
#include "tests/compiler_core/runtime/test_artifact.h"

namespace kiln::runtime::test {
namespace {

using testing::HasSubstr;

// The sample input with so many indices too large, and too small.
std::vector<NamedTensor> inputs(std::size_t above, std::size_t below = 0) {
  auto x = sampleInput();
  for (std::size_t i = 0; i < above; ++i) x[i] = kFar;
  for (std::size_t i = above; i < above + below; ++i) x[i] = -kFar;
  return {{"x", floats({kRows, kColumns}, x)}};
}

Session sessionOf(const TestArtifact& files, bool checked) {
  auto artifact = Artifact::open(files.path());
  EXPECT_TRUE(artifact) << artifact.error().message;
  auto session =
      Session::open(*artifact, {.threads = 2, .run_before_ready = 1, .check_indices = checked ? 1 : 0});
  EXPECT_TRUE(session) << session.error().message;
  return std::move(*session);
}

TEST(IndexChecks, AreCountedByNodeAndTogether) {
  const CountingArtifact files;
  Session session = sessionOf(files, false);
  ASSERT_EQ(session.indexChecks().size(), 2u);
  EXPECT_STREQ(session.indexChecks()[0].node, "lookup");
  EXPECT_STREQ(session.indexChecks()[1].node, "place");
  ASSERT_TRUE(session.run(inputs(0)));
  EXPECT_EQ(session.counters().out_of_range_indices, 0u);
  const auto outputs = session.run(inputs(3, 1));
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ(outputs->size(), 2u) << "the counts are no output of the model";
  EXPECT_EQ(valuesOf((*outputs)[0].tensor)[9], expectedOutput(sampleInput())[9]);
  ASSERT_TRUE(session.run(inputs(2)));
  EXPECT_EQ(session.counters().out_of_range_indices, 6u);
  EXPECT_EQ(session.counters().runs, 3u);
  EXPECT_EQ(session.indexChecks()[0].out_of_range, 5u);
  EXPECT_EQ(session.indexChecks()[1].out_of_range, 1u);
}

TEST(IndexChecks, ACheckedSessionRefusesSuchARunByNode) {
  const CountingArtifact files;
  Session session = sessionOf(files, true);
  ASSERT_TRUE(session.run(inputs(0)));
  const auto one = failureOf(session.run(inputs(0, 1)));
  EXPECT_EQ(one.errorClass, KILN_NUMERICAL_CHECK_FAILED);
  EXPECT_THAT(one.message, HasSubstr("1 index is outside its dimension"));
  EXPECT_THAT(one.message, HasSubstr("1 at node \"place\""));
  EXPECT_THAT(failureOf(session.run(inputs(2, 1))).message,
              HasSubstr("3 indices are outside their dimension, which ONNX calls an error: 2 at node "
                        "\"lookup\", 1 at node \"place\""));
  const kiln_counters counters = session.counters();
  EXPECT_EQ(counters.runs, 1u);
  EXPECT_EQ(counters.failed_runs, 2u);
  EXPECT_EQ(counters.guard_failures, 0u);
  EXPECT_EQ(counters.out_of_range_indices, 4u);
  EXPECT_TRUE(session.run(inputs(0))) << "the session goes on";
}

TEST(IndexChecks, WarmupCountsAndRefusesNothing) {
  CountingArtifact files;
  files.writeFixtures();
  auto x = sampleInput();
  x[0] = kFar;
  ASSERT_TRUE(npy::write(files / "fixtures/default/input_0.npy", floats({kRows, kColumns}, x)));
  ASSERT_TRUE(
      npy::write(files / "fixtures/default/output_0.npy", floats({kRows, kColumns}, expectedOutput(x))));
  Session session = sessionOf(files, true);
  const Status warm = session.warmup();
  EXPECT_TRUE(warm) << warm.error().message;
  EXPECT_EQ(session.counters().out_of_range_indices, 0u);
}

TEST(IndexChecks, AProgramWithoutThemHasNone) {
  const TestArtifact files;
  Session session = sessionOf(files, true);
  EXPECT_TRUE(session.indexChecks().empty());
  EXPECT_TRUE(session.run(inputs(3)));
  EXPECT_EQ(session.counters().out_of_range_indices, 0u);
}

TEST(IndexChecks, ProgramAndManifestMustAgree) {
  TestArtifact silent("counts");
  EXPECT_THAT(failureOf(Artifact::open(silent.path())).message, HasSubstr("outputs"));
  TestArtifact plain;
  plain.manifest.indexChecks = {"lookup"};
  plain.writeManifest();
  const auto failure = failureOf(Artifact::open(plain.path()));
  EXPECT_EQ(failure.errorClass, KILN_INVALID_ARTIFACT);
  EXPECT_THAT(failure.message, HasSubstr("outputs"));
}

}  // namespace
}  // namespace kiln::runtime::test
