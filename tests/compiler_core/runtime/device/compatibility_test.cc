#include "compiler_core/runtime/device/compatibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/runtime/device/device_layout.h"

namespace kiln::runtime {
namespace {

using testing::HasSubstr;

DeviceInfo device(int major, int minor, int driver) {
  DeviceInfo info;
  info.name = "NVIDIA Test";
  info.major = major;
  info.minor = minor;
  info.driverVersion = driver;
  info.memoryBytes = 1000;
  return info;
}
DeviceImageInfo image(const std::string& arch, const std::string& capability, bool exact) {
  DeviceImageInfo info;
  info.target = "cuda:" + arch;
  info.arch = arch;
  info.driver = "12.8";
  info.computeCapability = capability;
  info.exact = exact;
  return info;
}
std::string refusal(const DeviceImageInfo& needed, const DeviceInfo& has) {
  const Status status = checkDevice(needed, has);
  if (status) return "";
  EXPECT_EQ(status.error().code, Code::kUnimplemented);
  return status.error().message;
}

TEST(Compatibility, KernelsOfOneArchitectureRunThereAlone) {
  const auto exact = image("sm_90a", "9.0", true);
  EXPECT_EQ(refusal(exact, device(9, 0, 12080)), "");
  for (const auto& [major, minor] : {std::pair(8, 9), std::pair(9, 1), std::pair(10, 0)})
    EXPECT_THAT(refusal(exact, device(major, minor, 13000)), HasSubstr("compute capability 9.0 alone"));
}

TEST(Compatibility, OthersRunOnLaterMinorVersionsToo) {
  const auto range = image("sm_80", "8.0", false);
  EXPECT_EQ(refusal(range, device(8, 0, 13000)), "");
  EXPECT_EQ(refusal(range, device(8, 9, 13000)), "");
  for (const auto& [major, minor] : {std::pair(7, 5), std::pair(9, 0)})
    EXPECT_THAT(refusal(range, device(major, minor, 13000)), HasSubstr("8.0 or a later 8.x"));
  EXPECT_THAT(refusal(image("sm_86", "8.6", false), device(8, 0, 13000)), HasSubstr("sm_80"));
}

TEST(Compatibility, DriversAreComparedByBothNumbers) {
  const auto needed = image("sm_90a", "9.0", true);
  EXPECT_EQ(refusal(needed, device(9, 0, 12080)), "");
  EXPECT_EQ(refusal(needed, device(9, 0, 13000)), "");
  EXPECT_THAT(refusal(needed, device(9, 0, 12070)), HasSubstr("serves CUDA 12.7"));
  EXPECT_THAT(refusal(needed, device(9, 0, 11080)), HasSubstr("need CUDA 12.8 or later"));
}

TEST(Compatibility, MemoryIsComparedWithWhatIsFree) {
  const DevicePlan plan{300, 600};
  EXPECT_TRUE(checkDeviceMemory(plan, false, device(9, 0, 13000), 900));
  EXPECT_TRUE(checkDeviceMemory(plan, true, device(9, 0, 13000), 600));
  const Status status = checkDeviceMemory(plan, false, device(9, 0, 13000), 899);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kResourceExhausted);
  EXPECT_THAT(status.error().message, HasSubstr("plans 900 bytes"));
  EXPECT_THAT(status.error().message, HasSubstr("899 of its 1000 bytes free"));
}

TEST(Compatibility, ThePlanCountsWeightsOfDevicesAndTheLargestArenas) {
  Manifest manifest;
  manifest.devices = {image("sm_80", "8.0", false), image("sm_90a", "9.0", true)};
  manifest.weights = {{.path = "a", .mediaType = "", .digest = {{}, 100}},
                      {.path = "b", .mediaType = "", .digest = {{}, 300}}};
  manifest.weightSpaces = {0, 2};
  manifest.profiles = {{.name = "small", .deviceArenaBytes = {1, 512}},
                       {.name = "large", .deviceArenaBytes = {257, 10}}};
  const auto plan = devicePlan(manifest);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->weightBytes, 512u);
  EXPECT_EQ(plan->arenaBytes, 1024u);
  EXPECT_THAT(DeviceArenas(manifest).offsets(), testing::ElementsAre(0, 512));
  manifest.profiles[0].deviceArenaBytes[0] = UINT64_MAX;
  ASSERT_FALSE(devicePlan(manifest));
  EXPECT_EQ(devicePlan(manifest).error().code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace kiln::runtime
