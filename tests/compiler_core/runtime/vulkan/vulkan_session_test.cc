// Artifacts with kernels for Vulkan, from the files to the results, on this machine's driver (in CI Mesa's
// lavapipe), with the validation layer on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/compiler_core/runtime/failure.h"
#include "tests/compiler_core/runtime/vulkan/vulkan_files.h"

namespace kiln::runtime::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using VulkanSession = VulkanTest;

std::vector<float> inputOf(float first) {
  auto values = sampleInput();
  values[0] = first;
  return values;
}
std::vector<NamedTensor> tensorsOf(const std::vector<float>& values) {
  return {{"x", floats({kRows, kColumns}, values)}};
}
Artifact open(const VulkanTestArtifact& files) {
  auto artifact = Artifact::open(files.path());
  EXPECT_TRUE(artifact) << artifact.error().message;
  return std::move(*artifact);
}
Session sessionOf(const Artifact& artifact, kiln_session_options options = onVulkanDevice()) {
  auto session = Session::open(artifact, options);
  EXPECT_TRUE(session) << session.error().message;
  return std::move(*session);
}
void expectRight(Session& session, const std::vector<float>& x, float more = 0) {
  const auto outputs = session.run(tensorsOf(x));
  ASSERT_TRUE(outputs) << outputs.error().message;
  auto expected = expectedOutput(x);
  for (float& value : expected) value += more;
  EXPECT_EQ(valuesOf((*outputs)[0].tensor), expected);
}
Failure refusal(const VulkanTestArtifact& files, kiln_session_options options = onVulkanDevice()) {
  return failureOf(Session::open(open(files), options));
}

TEST_F(VulkanSession, TheValidationLayerListens) {
  if (!validates()) GTEST_SKIP() << "no validation layer here: install vulkan-validationlayers";
  // What the runtime never does.
  const auto driver = VulkanDriver::open(KILN_FAULTY_VULKAN);
  ASSERT_TRUE(driver);
  VkPhysicalDeviceFeatures2 unnamed{};
  (**driver)->getPhysicalDeviceFeatures2((*driver)->devices()[0], &unnamed);
  EXPECT_GT(messages(), 0u) << "a structure without its type is a misuse that the layer must tell";
}

TEST_F(VulkanSession, RunsOnTheDeviceAndCounts) {
  VulkanTestArtifact files;
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact);
  expectRight(session, sampleInput());
  const kiln_counters counters = session.counters();
  EXPECT_EQ(std::string(counters.path), "vulkan:1.3 profile default");
  EXPECT_EQ(counters.device_planned_bytes, VulkanTestArtifact::kArenaBytes + kColumns * sizeof(float));
  EXPECT_EQ(counters.device_transfer_bytes, 2 * kRows * kColumns * sizeof(float));
  EXPECT_EQ(std::string(counters.device_name), device_.name);
  EXPECT_EQ(counters.device_driver_version, device_.driverVersion);
  EXPECT_EQ(counters.device_compute_major, 1);
  EXPECT_EQ(counters.device_emulated, 0);
  EXPECT_EQ(std::string(counters.device_api), "vulkan");
  EXPECT_EQ(counters.device_api_version, device_.apiVersion);
  EXPECT_EQ(counters.device_type, device_.type);
  EXPECT_EQ(counters.device_driver, device_.driver);
  EXPECT_EQ(counters.device_conformance, device_.conformance);
}

TEST_F(VulkanSession, WarmsUpAgainstItsFixtures) {
  VulkanTestArtifact files;
  files.writeFixtures();
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact);
  const Status warm = session.warmup();
  ASSERT_TRUE(warm) << warm.error().message;
}

TEST_F(VulkanSession, ARunOfFixedShapesIsRecordedAndReplayed) {
  VulkanTestArtifact files;
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact);
  for (int i = 0; i < 5; ++i) expectRight(session, inputOf(static_cast<float>(i)));
  EXPECT_EQ(session.counters().replayed_runs, 4u);
  EXPECT_EQ(session.counters().device_transfer_bytes, 5 * 2 * kRows * kColumns * sizeof(float));
}

TEST_F(VulkanSession, EachProfileReplaysItsOwnRun) {
  VulkanTestArtifact files("device_two_profiles");
  files.manifest.spec.profiles.push_back({"half", {{"N", {kRows / 2, kRows / 2, kRows / 2}}}});
  files.manifest.profiles.push_back({.name = "half", .deviceArenaBytes = {VulkanTestArtifact::kArenaBytes}});
  files.writeManifest();
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact);
  // The smaller one first: the larger one's tensors need other memory, which ends what was recorded.
  for (int i = 0; i < 3; ++i) {
    const auto x = inputOf(static_cast<float>(i));
    const std::vector<float> half(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2));
    const auto outputs = session.run({{"x", floats({kRows / 2, kColumns}, half)}});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_EQ(valuesOf((*outputs)[0].tensor), expectedOutput(half));
    if (i > 0) expectRight(session, x);
  }
  EXPECT_GE(session.counters().replayed_runs, 2u);
}

TEST_F(VulkanSession, WhatWorksOnTheHostTooIsNeverReplayed) {
  for (const auto& [program, added] :
       {std::pair("device_and_host", 1.0f), std::pair("device_after_host", 0.0f)}) {
    VulkanTestArtifact files(program);
    const Artifact artifact = open(files);
    Session session = sessionOf(artifact);
    for (int i = 0; i < 3; ++i) expectRight(session, inputOf(static_cast<float>(i)), added);
    EXPECT_EQ(session.counters().replayed_runs, 0u) << program;
  }
}

TEST_F(VulkanSession, SessionsRunAtTheSameTime) {
  VulkanTestArtifact files;
  const Artifact artifact = open(files);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&artifact, t] {
      Session session = sessionOf(artifact);
      for (int i = 0; i < 5; ++i) expectRight(session, inputOf(static_cast<float>(10 * t + i)));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(VulkanSession, MeasuresKernels) {
  VulkanTestArtifact files;
  const Artifact artifact = open(files);
  auto options = onVulkanDevice();
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

TEST_F(VulkanSession, NoDriverIsNamed) {
  VulkanTestArtifact files;
  auto options = onVulkanDevice();
  options.device_driver = "";
  EXPECT_EQ(refusal(files, options).errorClass, KILN_INVALID_ARGUMENT);
  options.device_driver = "libno-such-driver.so.1";
  const Failure absent = refusal(files, options);
  EXPECT_EQ(absent.errorClass, KILN_UNSUPPORTED_TARGET);
  EXPECT_THAT(absent.message, AllOf(HasSubstr("no Vulkan loader"), HasSubstr("libno-such-driver.so.1")));
  options.device_driver = "libm.so.6";
  EXPECT_THAT(refusal(files, options).message,
              HasSubstr("no Vulkan loader: it has no vkGetInstanceProcAddr"));
}

TEST_F(VulkanSession, AnotherOrdinalThanThereAreIsRefused) {
  auto options = onVulkanDevice();
  for (const int ordinal : {64, -1}) {
    options.device = ordinal;
    const Failure failure = refusal(VulkanTestArtifact(), options);
    EXPECT_EQ(failure.errorClass, KILN_UNSUPPORTED_TARGET);
    EXPECT_THAT(failure.message, HasSubstr("there is no device " + std::to_string(ordinal)));
  }
}

TEST_F(VulkanSession, ALaterVulkanThanTheDevicesNamesBoth) {
  VulkanTestArtifact files;
  files.manifest.devices[0].driver = "1.99";
  files.writeManifest();
  const Failure failure = refusal(files);
  EXPECT_EQ(failure.errorClass, KILN_UNSUPPORTED_TARGET);
  EXPECT_THAT(failure.message, AllOf(HasSubstr("serves Vulkan 1."), HasSubstr("need 1.99")));
}

TEST_F(VulkanSession, AModuleThatIsNotTheManifestsIsRefused) {
  VulkanTestArtifact files;
  files.manifest.devices[0].computeCapability = "1.5";
  files.writeManifest();
  EXPECT_THAT(refusal(files).message, HasSubstr("SPIR-V 1.6, the manifest says 1.5"));
  files.manifest.devices[0].computeCapability = "1.6";
  files.manifest.devices[0].kernels = {"kiln_k0_scale", "kiln_k9_none"};
  files.writeManifest();
  const Failure failure = refusal(files);
  EXPECT_EQ(failure.errorClass, KILN_INVALID_ARTIFACT);
  EXPECT_THAT(failure.message, HasSubstr("no kernel \"kiln_k9_none\""));
}

TEST_F(VulkanSession, WhatTheDeviceCannotServeNamesBothSides) {
  VulkanTestArtifact files;
  files.writeModule(assemble(kernelText("LocalSize 64 1 1", "LocalSize 65536 1 1")));
  const Failure threads = refusal(files);
  EXPECT_EQ(threads.errorClass, KILN_UNSUPPORTED_TARGET);
  EXPECT_THAT(threads.message, AllOf(HasSubstr("65536 threads"), HasSubstr(device_.name)));
  files.writeModule(assemble(
      kernelText("OpTypeArray %float %n64", "OpTypeArray %float %huge")
          .replace(kernelText().find("      %n64   ="), 0, "      %huge  = OpConstant %uint 1000000\n")));
  EXPECT_THAT(refusal(files).message, HasSubstr("share 4000000 bytes"));
  files.writeModule(assemble(kernelText("LocalSize 64 1 1", "LocalSize 8 8 1")));
  EXPECT_THAT(refusal(files).message, HasSubstr("more than a row"));
}

TEST_F(VulkanSession, HostileBytesNeverReachTheDriver) {
  VulkanTestArtifact files;
  const std::string module = assemble(kernelText());
  files.writeModule(module.substr(0, module.size() - 8));
  const Failure cut = refusal(files);
  EXPECT_EQ(cut.errorClass, KILN_INVALID_ARTIFACT);
  EXPECT_THAT(cut.message, AllOf(HasSubstr("kernels/vulkan1.3.spv"), HasSubstr("SPIR-V, word")));
  files.writeModule(
      assemble(kernelText("OpCapability Shader", "OpCapability Shader\nOpCapability Sampled1D")));
  const Failure capability = refusal(files);
  EXPECT_EQ(capability.errorClass, KILN_UNSUPPORTED_TARGET);
  EXPECT_THAT(capability.message, HasSubstr("capability 43"));
}

TEST_F(VulkanSession, ALaunchThatCannotBeLeavesTheSessionUsable) {
  for (const char* program : {"device_no_kernel", "device_wrong_block"}) {
    VulkanTestArtifact files(program);
    const Artifact artifact = open(files);
    Session session = sessionOf(artifact);
    const Failure first = failureOf(session.run(tensorsOf(sampleInput())));
    EXPECT_EQ(first.errorClass, KILN_BACKEND_FAILURE) << program;
    EXPECT_EQ(failureOf(session.run(tensorsOf(sampleInput()))).message, first.message) << program;
  }
}

// What a faulty driver does ends in an error with a name. The validation layer sees a driver's lies as the
// runtime's misuse, so its messages are not asked for.
class VulkanFault : public VulkanTest {
 protected:
  void TearDown() override {
    (void)messages();
    VulkanTest::TearDown();
  }
};

TEST_F(VulkanFault, ALostDeviceIsSaidByAllSessions) {
  VulkanTestArtifact files;
  const Artifact artifact = open(files);
  Session first = sessionOf(artifact), second = sessionOf(artifact);
  expectRight(first, inputOf(1));
  fault("lost");
  const Failure failure = failureOf(first.run(tensorsOf(sampleInput())));
  EXPECT_EQ(failure.errorClass, KILN_DEVICE_LOST);
  EXPECT_THAT(failure.message, HasSubstr("VK_ERROR_DEVICE_LOST"));
  fault("");
  const Failure other = failureOf(second.run(tensorsOf(sampleInput())));
  EXPECT_EQ(other.errorClass, KILN_DEVICE_LOST);
  EXPECT_THAT(other.message, AllOf(HasSubstr("an earlier run failed"), HasSubstr(device_.name)));
}

TEST_F(VulkanFault, NoMemoryIsSaid) {
  fault("memory");
  const Failure failure = refusal(VulkanTestArtifact());
  EXPECT_EQ(failure.errorClass, KILN_ALLOCATION_FAILURE);
  EXPECT_THAT(failure.message,
              AllOf(HasSubstr("1024 bytes for weights"), HasSubstr("VK_ERROR_OUT_OF_DEVICE_MEMORY")));
}

TEST_F(VulkanFault, WorkThatNeverEndsIsSaidAndNothingIsGivenBack) {
  VulkanTestArtifact files;
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact);
  expectRight(session, inputOf(1));
  fault("hang");
  const Failure failure = failureOf(session.run(tensorsOf(sampleInput())));
  EXPECT_EQ(failure.errorClass, KILN_DEVICE_LOST);
  EXPECT_THAT(failure.message, HasSubstr("it hangs"));
  fault("");
  EXPECT_EQ(failureOf(session.run(tensorsOf(sampleInput()))).errorClass, KILN_DEVICE_LOST);
}

TEST_F(VulkanFault, WrongNumbersFailTheWarmup) {
  VulkanTestArtifact files;
  files.writeFixtures();
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact);
  fault("wrong");
  const Failure failure = failureOf(session.warmup());
  EXPECT_EQ(failure.errorClass, KILN_NUMERICAL_CHECK_FAILED);
  EXPECT_FALSE(session.ready());
}

TEST_F(VulkanFault, LiesAboutLimitsAreNamed) {
  const std::pair<const char*, const char*> lies[] = {
      {"threads", "says that a block may have 0 threads"},
      {"types", "more kinds of memory than Vulkan knows"},
      {"heap", "a heap that there is not"},
      {"address", "at an address that cannot be"},
  };
  for (const auto& [lie, said] : lies) {
    fault(lie);
    const Failure failure = refusal(VulkanTestArtifact());
    EXPECT_EQ(failure.errorClass, KILN_BACKEND_FAILURE) << lie;
    EXPECT_THAT(failure.message, HasSubstr(said)) << lie;
  }
}

TEST_F(VulkanFault, ADeviceThatCannotRunKernelsIsNamed) {
  const std::pair<const char*, const char*> lacks[] = {
      {"old", "serves Vulkan 1.1; kernels need 1.3"},
      {"no-addresses", "it has no bufferDeviceAddress"},
      {"none", "there is no Vulkan device"},
  };
  for (const auto& [lack, said] : lacks) {
    fault(lack);
    const Failure failure = refusal(VulkanTestArtifact());
    EXPECT_EQ(failure.errorClass, KILN_UNSUPPORTED_TARGET) << lack;
    EXPECT_THAT(failure.message, HasSubstr(said)) << lack;
  }
}

}  // namespace
}  // namespace kiln::runtime::test
