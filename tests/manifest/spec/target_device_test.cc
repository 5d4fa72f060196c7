#include "manifest/spec/target_device.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(TargetDevice, CudaTargetsWantADevice) {
  EXPECT_TRUE(wantsDevice("cuda:sm_90a"));
  EXPECT_TRUE(wantsDevice("cpu:x86-64-v4,cuda:sm_80"));
  EXPECT_FALSE(wantsDevice("cpu:x86-64-v4,cpu:x86-64-v3"));
  EXPECT_FALSE(wantsDevice(""));
  EXPECT_TRUE(wantsDevice("vulkan:1.3"));
  EXPECT_TRUE(isVulkan("vulkan:1.3+f16"));
  EXPECT_FALSE(isVulkan("cuda:sm_80"));
}

TEST(TargetDevice, SearchesMeasureProcessorsAndVulkan) {
  for (const char* name : {"cpu:x86-64-v3", "vulkan:1.3", "cpu:x86-64-v3,vulkan:1.3"})
    EXPECT_TRUE(isSearched(name)) << name;
  EXPECT_FALSE(isSearched("cuda:sm_90a"));
  EXPECT_FALSE(isSearched("cuda:sm_90a,cpu:x86-64-v3"));
}

TEST(TargetDevice, AGpuRunsItsOwnGeneration) {
  EXPECT_TRUE(runsOnGpu("cuda:sm_80", 8, 0));
  EXPECT_TRUE(runsOnGpu("cuda:sm_80", 8, 9));
  EXPECT_FALSE(runsOnGpu("cuda:sm_86", 8, 0));
  EXPECT_FALSE(runsOnGpu("cuda:sm_80", 9, 0)) << "a cubin does not run on another generation";
  EXPECT_TRUE(runsOnGpu("cuda:sm_90a", 9, 0));
  EXPECT_FALSE(runsOnGpu("cuda:sm_100a", 10, 3)) << "code of one architecture";
  EXPECT_TRUE(runsOnGpu("cuda:sm_100a", 10, 0));
}

TEST(TargetDevice, AVulkanDeviceRunsItsVersionAndEarlierOnes) {
  EXPECT_TRUE(runsOnVulkan("vulkan:1.3", 1, 3));
  EXPECT_TRUE(runsOnVulkan("vulkan:1.3", 1, 4));
  EXPECT_FALSE(runsOnVulkan("vulkan:1.3", 1, 2));
  EXPECT_FALSE(runsOnVulkan("vulkan:1.3", 2, 3)) << "another major version is another interface";
  for (const char* name : {"vulkan:1.3+f16", "vulkan:1.", "vulkan:", "vulkan:1.3,cpu:x86-64-v3", "cuda:sm_80",
                           "vulkan:1.99999999999999999999", ""})
    EXPECT_FALSE(runsOnVulkan(name, 1, 3)) << name;
}

TEST(TargetDevice, WhatIsNoGpuTargetRunsOnNone) {
  for (const char* name : {"cpu:x86-64-v3", "cuda:sm_", "cuda:sm_9", "cuda:sm_90b",
                           "cuda:sm_90a,cpu:x86-64-v3", "cuda:sm_99999999999999999999", "cuda:sm_-90", ""})
    EXPECT_FALSE(runsOnGpu(name, 9, 0)) << name;
}

}  // namespace
}  // namespace kiln
