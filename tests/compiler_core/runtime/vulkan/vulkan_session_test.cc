// Artifacts with kernels for Vulkan, from the files to the results, on this machine's driver (in CI Mesa's
// lavapipe), with the validation layer on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/runtime/device/device_contract.h"
#include "tests/compiler_core/runtime/failure.h"
#include "tests/compiler_core/runtime/vulkan/vulkan_files.h"

namespace kiln::runtime::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using VulkanSession = VulkanTest;

class VulkanFamily final : public DeviceFamily {
 public:
  VulkanFamily() {
    FaultyLoader::fault("");
    (void)FaultyLoader::messages();
  }
  ~VulkanFamily() override { FaultyLoader::fault(""); }
  std::string missing() const override { return FaultyLoader::missing(); }
  std::unique_ptr<DeviceFolder> files(const std::string& program) const override {
    return std::make_unique<VulkanTestArtifact>(program);
  }
  kiln_session_options options() const override { return onVulkanDevice(); }
  // What the validation layer said; of what is not destroyed in time, too. It sees a driver's lies as misuse.
  std::string left() const override {
    std::string first;
    return FaultyLoader::messages(&first) == 0 || faulty_ ? "" : first;
  }
  void isLost() override { begin("lost"); }
  void takeMemory() override { begin("memory"); }
  void giveMemory() override { FaultyLoader::fault(""); }
  Words words() const override {
    return {"vulkan:1.3",           "vulkan",
            "no Vulkan loader",     "no Vulkan loader: it has no vkGetInstanceProcAddr",
            "VK_ERROR_DEVICE_LOST", "1024 bytes for weights, "};
  }

 private:
  void begin(const char* fault) {
    FaultyLoader::fault(fault);
    faulty_ = true;
  }
  bool faulty_ = false;
};
INSTANTIATE_TEST_SUITE_P(Devices, DeviceContract,
                         testing::Values(DeviceFamilyMaker{"vulkan", []() -> std::unique_ptr<DeviceFamily> {
                                                             return std::make_unique<VulkanFamily>();
                                                           }}));

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

TEST_F(VulkanSession, CountsWhatTheDriverSays) {
  VulkanTestArtifact files;
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact, onVulkanDevice());
  expectRight(session, sampleInput());
  const kiln_counters counters = session.counters();
  EXPECT_EQ(std::string(counters.device_name), device_.name);
  EXPECT_EQ(counters.device_driver_version, device_.driverVersion);
  EXPECT_EQ(counters.device_compute_major, 1);
  EXPECT_EQ(counters.device_emulated, 0);
  EXPECT_EQ(counters.device_api_version, device_.apiVersion);
  EXPECT_EQ(counters.device_type, device_.type);
  EXPECT_EQ(counters.device_driver, device_.driver);
  EXPECT_EQ(counters.device_conformance, device_.conformance);
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

TEST_F(VulkanSession, WhatTheDriverKeepsOfItsOwnIsUsedOrSaidNotToBe) {
  VulkanTestArtifact files;
  const testing_support::TempDirectory folder;
  const std::string cache = folder / "pipelines";
  auto options = onVulkanDevice();
  options.device_cache = cache.c_str();
  std::vector<std::string> said;
  for (int i = 0; i < 2; ++i) {
    const Artifact artifact = open(files);
    Session session = sessionOf(artifact, options);
    expectRight(session, sampleInput());
    said.push_back(session.counters().device_cache);
  }
  // lavapipe's caches have nothing but a header: what it compiles it keeps in files of its own.
  if (said[0].starts_with("kept ")) {
    EXPECT_EQ(said[1], "used");
  } else {
    EXPECT_EQ(said, std::vector<std::string>(2, "the driver keeps nothing"));
  }
  const Artifact artifact = open(files);
  EXPECT_STREQ(sessionOf(artifact, onVulkanDevice()).counters().device_cache, "")
      << "where no folder is named";
}

// A driver whose pipeline caches have content.
TEST_F(VulkanSession, WhatTheDriverCompiledIsKeptAndGivenBackWholeOrNotAtAll) {
  fault("cache");
  VulkanTestArtifact files;
  const testing_support::TempDirectory folder;
  const std::string cache = folder / "pipelines";
  auto options = onVulkanDevice();
  options.device_cache = cache.c_str();
  const auto loaded = [&] {
    const Artifact artifact = open(files);
    Session session = sessionOf(artifact, options);
    expectRight(session, sampleInput());
    return std::string(session.counters().device_cache);
  };
  EXPECT_THAT(loaded(), testing::MatchesRegex("kept [0-9]+ bytes"));
  EXPECT_EQ(cacheGiven(), 0u);
  EXPECT_EQ(loaded(), "used");
  const std::uint64_t whole = cacheGiven();
  EXPECT_GT(whole, 32u);
  const std::filesystem::path file = std::filesystem::directory_iterator(cache)->path();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_THAT(loaded(), testing::MatchesRegex("refused: .*its digest is another, kept [0-9]+ bytes"));
  EXPECT_EQ(cacheGiven(), 0u) << "the driver must not see it";
  EXPECT_EQ(loaded(), "used") << "what was refused is made anew";
  EXPECT_EQ(cacheGiven(), whole);
  std::filesystem::permissions(file, std::filesystem::perms::all);
  EXPECT_THAT(loaded(), HasSubstr("others than this user could have written it"));
  EXPECT_EQ(cacheGiven(), 0u);
  // Another module is another file.
  files.writeModule(assemble(
      kernelText("%2f   = OpConstant %float 2", "%2f   = OpConstant %float 2\n%3f = OpConstant %float 3")));
  EXPECT_THAT(loaded(), testing::StartsWith("kept "));
  std::filesystem::remove_all(cache);
  std::ofstream(cache) << "a file";
  EXPECT_THAT(loaded(), HasSubstr("not kept: "));
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

TEST_F(VulkanFault, WorkThatNeverEndsIsSaidAndNothingIsGivenBack) {
  VulkanTestArtifact files;
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact, onVulkanDevice());
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
  Session session = sessionOf(artifact, onVulkanDevice());
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
