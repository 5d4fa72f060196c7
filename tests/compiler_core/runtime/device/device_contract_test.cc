#include "tests/compiler_core/runtime/device/device_contract.h"

#include <gmock/gmock.h>

#include <optional>
#include <thread>

#include "tests/compiler_core/runtime/failure.h"

namespace kiln::runtime::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_P(DeviceContract, RunsOnTheDeviceAndCounts) {
  const auto files = family_->files();
  const Artifact artifact = open(*files);
  Session session = sessionOf(artifact, family_->options());
  expectRight(session, sampleInput());
  const kiln_counters counters = session.counters();
  EXPECT_EQ(std::string(counters.path), family_->words().target + " profile default");
  EXPECT_EQ(std::string(counters.device_api), family_->words().api);
  EXPECT_EQ(counters.device_planned_bytes, DeviceFolder::kArenaBytes + kColumns * sizeof(float));
  EXPECT_EQ(counters.device_transfer_bytes, 2 * kRows * kColumns * sizeof(float));
  EXPECT_EQ(counters.runs, 1u);
}

TEST_P(DeviceContract, WarmsUpAgainstItsFixtures) {
  const auto files = family_->files();
  files->writeFixtures();
  const Artifact artifact = open(*files);
  Session session = sessionOf(artifact, family_->options());
  const Status warm = session.warmup();
  ASSERT_TRUE(warm) << warm.error().message;
  EXPECT_TRUE(session.ready());
  files->writeFixtures(1);
  EXPECT_EQ(failureOf(session.warmup()).errorClass, KILN_NUMERICAL_CHECK_FAILED);
}

TEST_P(DeviceContract, ARunOfFixedShapesIsRecordedAndReplayed) {
  const auto files = family_->files();
  const Artifact artifact = open(*files);
  Session session = sessionOf(artifact, family_->options());
  for (int i = 0; i < 5; ++i) expectRight(session, inputOf(static_cast<float>(i)));
  EXPECT_EQ(session.counters().replayed_runs, 4u);
  EXPECT_EQ(session.counters().device_transfer_bytes, 5 * 2 * kRows * kColumns * sizeof(float));
}

TEST_P(DeviceContract, EachProfileReplaysItsOwnRun) {
  const auto files = family_->files("device_two_profiles");
  files->manifest.spec.profiles.push_back({"half", {{"N", {kRows / 2, kRows / 2, kRows / 2}}}});
  files->manifest.profiles.push_back({.name = "half", .deviceArenaBytes = {DeviceFolder::kArenaBytes}});
  files->writeManifest();
  const Artifact artifact = open(*files);
  const auto run = [](Session& session, float first, bool half) {
    auto x = inputOf(first);
    if (half) x.resize(x.size() / 2);
    expectRight(session, x);
  };
  Session session = sessionOf(artifact, family_->options());
  for (int i = 0; i < 3; ++i)
    for (const bool half : {false, true}) run(session, static_cast<float>(i), half);
  EXPECT_EQ(session.counters().replayed_runs, 4u);
  EXPECT_EQ(session.counters().device_transfer_bytes, 3 * 3 * kRows * kColumns * sizeof(float));
  // The smaller one first: the larger one's tensors need other memory, which ends what was recorded.
  Session other = sessionOf(artifact, family_->options());
  for (int i = 0; i < 4; ++i)
    for (const bool half : {true, false})
      if (half || i > 0) run(other, static_cast<float>(i), half);
  EXPECT_GE(other.counters().replayed_runs, 2u);
}

TEST_P(DeviceContract, SizesMayDifferFromRunToRun) {
  const auto files = family_->files();
  files->manifest.spec.profiles = {{"default", {{"N", {1, kRows, kRows}}}}};
  files->writeManifest();
  const Artifact artifact = open(*files);
  Session session = sessionOf(artifact, family_->options());
  for (const std::size_t rows : {8u, 1u, 5u, 8u, 2u, 2u}) {
    auto x = inputOf(static_cast<float>(rows));
    x.resize(rows * kColumns);
    expectRight(session, x);
  }
  EXPECT_EQ(session.counters().replayed_runs, 0u);
}

TEST_P(DeviceContract, WhatWorksOnTheHostTooIsNeverReplayed) {
  for (const auto& [program, added] :
       {std::pair("device_and_host", 1.0f), std::pair("device_after_host", 0.0f)}) {
    const auto files = family_->files(program);
    const Artifact artifact = open(*files);
    Session session = sessionOf(artifact, family_->options());
    for (int i = 0; i < 3; ++i) expectRight(session, inputOf(static_cast<float>(i)), added);
    EXPECT_EQ(session.counters().replayed_runs, 0u) << program;
  }
}

TEST_P(DeviceContract, WhatAsksNothingOfTheDeviceIsNotRecorded) {
  const auto files = family_->files("device_nothing");
  const Artifact artifact = open(*files);
  Session session = sessionOf(artifact, family_->options());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session.run(tensorsOf(sampleInput())));
  EXPECT_EQ(session.counters().replayed_runs, 0u);
}

TEST_P(DeviceContract, SessionsRunAtTheSameTime) {
  const auto files = family_->files();
  const Artifact artifact = open(*files);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Session session = sessionOf(artifact, family_->options());
      for (int i = 0; i < 5; ++i) expectRight(session, inputOf(static_cast<float>(10 * t + i)));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(DeviceContract, SessionsAndTheirArtifactEndInAnyOrder) {
  const auto files = family_->files();
  std::optional<Artifact> artifact = open(*files);
  std::optional<Session> first = sessionOf(*artifact, family_->options());
  std::optional<Session> second = sessionOf(*artifact, family_->options());
  for (int i = 0; i < 2; ++i) {
    expectRight(*first, inputOf(1));
    expectRight(*second, inputOf(2));
  }
  artifact.reset();
  first.reset();
  expectRight(*second, inputOf(3));
  artifact = open(*files);
  first = sessionOf(*artifact, family_->options());
  second.reset();
  expectRight(*first, inputOf(4));
}

TEST_P(DeviceContract, MeasuresKernels) {
  const auto files = family_->files();
  const Artifact artifact = open(*files);
  auto options = family_->options();
  options.measure_kernels = 1;
  Session session = sessionOf(artifact, options);
  for (int i = 0; i < 3; ++i) expectRight(session, inputOf(static_cast<float>(i)));
  const auto kernels = session.kernels();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(std::string(kernels[0].symbol), "kiln_k0_scale");
  EXPECT_EQ(kernels[0].calls, 3u);
  EXPECT_EQ(kernels[0].tasks, 3u * kRows * kColumns / 64);
  EXPECT_GT(kernels[0].nanoseconds, 0u);
}

TEST_P(DeviceContract, NoDriverIsNamed) {
  const auto files = family_->files();
  const auto refusal = [&](const char* driver) {
    auto options = family_->options();
    options.device_driver = driver;
    return failureOf(Session::open(open(*files), options));
  };
  EXPECT_EQ(refusal("").errorClass, KILN_INVALID_ARGUMENT);
  EXPECT_THAT(refusal("").message, HasSubstr("device_driver"));
  const Failure absent = refusal("libno-such-driver.so.1");
  EXPECT_EQ(absent.errorClass, KILN_UNSUPPORTED_TARGET);
  EXPECT_THAT(absent.message,
              AllOf(HasSubstr(family_->words().noDriver), HasSubstr("libno-such-driver.so.1")));
  const Failure other = refusal("libm.so.6");
  EXPECT_EQ(other.errorClass, KILN_UNSUPPORTED_TARGET);
  EXPECT_THAT(other.message, HasSubstr(family_->words().noEntry));
}

TEST_P(DeviceContract, AnotherOrdinalThanThereAreIsRefused) {
  const auto files = family_->files();
  auto options = family_->options();
  for (const int ordinal : {64, -1}) {
    options.device = ordinal;
    const Failure failure = failureOf(Session::open(open(*files), options));
    EXPECT_EQ(failure.errorClass, KILN_UNSUPPORTED_TARGET);
    EXPECT_THAT(failure.message, HasSubstr("there is no device " + std::to_string(ordinal)));
  }
}

TEST_P(DeviceContract, AKernelThatTheImageLacksIsNamed) {
  const auto files = family_->files();
  files->manifest.devices[0].kernels.emplace_back("kiln_k9_absent");
  files->writeManifest();
  const Failure failure = failureOf(Session::open(open(*files), family_->options()));
  EXPECT_EQ(failure.errorClass, KILN_INVALID_ARTIFACT);
  EXPECT_THAT(failure.message, HasSubstr("kiln_k9_absent"));
}

TEST_P(DeviceContract, ALaunchThatCannotBeLeavesTheSessionUsable) {
  for (const char* program : {"device_no_kernel", "device_wrong_block"}) {
    const auto files = family_->files(program);
    const Artifact artifact = open(*files);
    Session session = sessionOf(artifact, family_->options());
    const Failure first = failureOf(session.run(tensorsOf(sampleInput())));
    EXPECT_EQ(first.errorClass, KILN_BACKEND_FAILURE) << program;
    EXPECT_EQ(failureOf(session.run(tensorsOf(sampleInput()))).message, first.message) << program;
  }
}

TEST_P(DeviceContract, TooLittleMemoryIsSaidAndNothingStays) {
  const auto files = family_->files();
  const Artifact artifact = open(*files);
  family_->takeMemory();
  const Failure failure = failureOf(Session::open(artifact, family_->options()));
  EXPECT_EQ(failure.errorClass, KILN_ALLOCATION_FAILURE);
  EXPECT_THAT(failure.message, HasSubstr(family_->words().noMemory));
  EXPECT_EQ(family_->left(), "");
  family_->giveMemory();
  Session session = sessionOf(artifact, family_->options());
  expectRight(session, sampleInput());
}

TEST_P(DeviceContract, WhatEndsTheDeviceEndsItForAllSessions) {
  const auto files = family_->files();
  const Artifact artifact = open(*files);
  family_->willBeLost();
  Session first = sessionOf(artifact, family_->options()), second = sessionOf(artifact, family_->options());
  expectRight(first, sampleInput());
  family_->isLost();
  const Failure failure = failureOf(first.run(tensorsOf(sampleInput())));
  EXPECT_EQ(failure.errorClass, KILN_DEVICE_LOST);
  EXPECT_THAT(failure.message, HasSubstr(family_->words().lost));
  for (Session* const session : {&second, &first}) {
    const Failure later = failureOf(session->run(tensorsOf(sampleInput())));
    EXPECT_EQ(later.errorClass, KILN_DEVICE_LOST);
    EXPECT_THAT(later.message, HasSubstr("an earlier run failed"));
  }
}

}  // namespace
}  // namespace kiln::runtime::test
