// Vulkan devices of this machine, as a worker finds and tries them: a real driver, in a process of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "compiler_core/runtime/device/vulkan_driver.h"
#include "manifest/base/run_program.h"
#include "manifest/spec/target_device.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_directory.h"
#include "worker/devices/describe.h"
#include "worker/devices/driver_probe.h"
#include "worker/devices/known_answers_module.h"
#include "worker/devices/registry.h"

namespace kiln::devices {
namespace {

class VulkanDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    auto found = probe_.list(runtime::kVulkanLoaderLibrary);
    if (!found) GTEST_SKIP() << "no Vulkan device here: " << found.error().message;
    gpus_ = *std::move(found);
    ASSERT_FALSE(gpus_.empty());
  }

  DriverProbe probe_{KILN_WORKER_PROGRAM};
  std::vector<Gpu> gpus_;
};

TEST_F(VulkanDevices, SayWhatTheyAreAndWhoDrivesThem) {
  const v1::Device& device = gpus_.front().about;
  EXPECT_EQ(device.kind(), "gpu");
  EXPECT_EQ(device.api(), "vulkan");
  EXPECT_TRUE(device.arch().starts_with("vulkan1.")) << device.arch();
  EXPECT_TRUE(device.api_version().starts_with("1.")) << device.api_version();
  EXPECT_NE(device.driver(), "");
  EXPECT_NE(device.conformance(), "");
  EXPECT_FALSE(device.emulated()) << "a driver is real, whatever it drives";
  if (device.name().starts_with("llvmpipe")) EXPECT_EQ(device.type(), "software");
  EXPECT_TRUE(gpus_.front().library.starts_with("/")) << "sandboxes show that very library";
  ASSERT_EQ(device.runs_size(), 1);
  EXPECT_EQ(device.runs(0), "vulkan:1.3");
  const std::string text = toText({device}, "");
  EXPECT_NE(text.find("Vulkan " + device.api_version() + " by " + device.driver()), std::string::npos)
      << text;
}

TEST_F(VulkanDevices, AreTriedOutByTheirUuid) {
  const Gpu& gpu = gpus_.front();
  const auto tested = probe_.test(runtime::kVulkanLoaderLibrary, gpu.uuid);
  ASSERT_TRUE(tested) << tested.error().message;
  EXPECT_EQ(*tested, gpu.ordinal);
  const auto gone = probe_.test(runtime::kVulkanLoaderLibrary, "00000000-0000-0000-0000-000000000000");
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().message.find("does not list it any more"), std::string::npos);
}

TEST_F(VulkanDevices, AreHeldBySoftwareOrHardwareAsTheyAre) {
  testing_support::ManualClock clock;
  Registry registry(probe_, clock);
  registry.discover({runtime::kVulkanLoaderLibrary});
  const sandbox::Cancel cancel;
  const auto hold = registry.hold({"gpu0"}, cancel);
  ASSERT_TRUE(hold) << hold.error().message;
  ASSERT_TRUE(hold->gpu());
  EXPECT_FALSE(hold->gpu()->emulated);
  const auto devices = registry.devices();
  const auto about = std::ranges::find(devices, "gpu0", &v1::Device::id);
  ASSERT_NE(about, devices.end());
  EXPECT_EQ(hold->gpu()->software, about->type() == "software");
}

// A loader in front of the real one that does wrong what KILN_EMULATED_VULKAN_FAULT names, in the probe's
// process.
class FaultyVulkan : public VulkanDevices {
 protected:
  void TearDown() override { ::unsetenv("KILN_EMULATED_VULKAN_FAULT"); }
  static void fault(const char* name) { ::setenv("KILN_EMULATED_VULKAN_FAULT", name, 1); }
  static v1::Device gpuOf(const Registry& registry) {
    for (const v1::Device& device : registry.devices())
      if (device.kind() == "gpu") return device;
    return {};
  }
};

TEST_F(FaultyVulkan, IsDrainedWithTheReasonAndComesBack) {
  const std::pair<const char*, const char*> faults[] = {
      {"abort", "crashed"},
      {"lost", "VK_ERROR_DEVICE_LOST"},
      {"memory", "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
      {"hang", "it hangs"},
      {"wrong", "a kernel's results are wrong: number 0 of 256"},
      {"address", "an address that cannot be"},
  };
  for (const auto& [name, said] : faults) {
    SCOPED_TRACE(name);
    testing_support::ManualClock clock;
    Registry registry(probe_, clock);
    registry.discover({KILN_FAULTY_VULKAN});
    ASSERT_TRUE(gpuOf(registry).healthy()) << registry.missing();
    const sandbox::Cancel cancel;
    fault(name);
    const auto refused = registry.hold({"gpu0"}, cancel);
    ASSERT_FALSE(refused) << "no action gets it";
    EXPECT_EQ(refused.error().code, Code::kUnavailable);
    EXPECT_FALSE(gpuOf(registry).healthy());
    EXPECT_NE(gpuOf(registry).reason().find(said), std::string::npos) << gpuOf(registry).reason();
    ::unsetenv("KILN_EMULATED_VULKAN_FAULT");
    ASSERT_TRUE(registry.nextRetry());
    clock.advance(std::chrono::hours(1));
    registry.retry();
    EXPECT_TRUE(gpuOf(registry).healthy()) << gpuOf(registry).reason();
  }
}

TEST_F(FaultyVulkan, OneThatLiesIsNoDeviceAndSaysWhatCannotBe) {
  const std::pair<const char*, const char*> lies[] = {
      {"threads", "says that a block may have 0 threads"},
      {"types", "more kinds of memory than Vulkan knows"},
      {"heap", "a heap that there is not"},
      {"old", "serves Vulkan 1.1; kernels need 1.3"},
      {"none", "there is no Vulkan device"},
  };
  for (const auto& [lie, said] : lies) {
    fault(lie);
    const auto found = probe_.list(KILN_FAULTY_VULKAN);
    ASSERT_FALSE(found) << lie;
    EXPECT_NE(found.error().message.find(said), std::string::npos) << found.error().message;
  }
}

TEST(KnownAnswers, TheModuleIsTheTexts) {
  if (std::string(KILN_SPIRV_AS).empty()) GTEST_SKIP() << "no spirv-as here: install spirv-tools";
  const testing_support::TempDirectory directory;
  const std::string path = directory / "k.spv";
  const auto made = runProgram({KILN_SPIRV_AS, "--target-env", "vulkan1.3", KILN_KNOWN_ANSWERS, "-o", path},
                               {.limit = std::chrono::seconds(60)});
  ASSERT_TRUE(made && made->exitCode == 0) << (made ? made->err : made.error().message);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream read;
  read << file.rdbuf();
  std::string bytes = read.str();
  ASSERT_EQ(bytes.size(), sizeof kKnownAnswersModule);
  std::memset(bytes.data() + 8, 0, 4);  // the assembler's own number
  EXPECT_EQ(std::memcmp(bytes.data(), kKnownAnswersModule, bytes.size()), 0) << "assemble the text anew";
}

TEST(VulkanLoader, OneThatIsNotThereSaysWhatToInstall) {
  DriverProbe probe(KILN_WORKER_PROGRAM);
  const auto none = probe.list("libvulkan-nowhere.so.1");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("no Vulkan loader"), std::string::npos) << none.error().message;
}

}  // namespace
}  // namespace kiln::devices
