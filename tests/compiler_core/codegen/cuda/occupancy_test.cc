#include "compiler_core/codegen/cuda/occupancy.h"

#include <gtest/gtest.h>

namespace kiln::codegen {
namespace {

TEST(Occupancy, ServedDevicesHaveLimits) {
  for (const char* arch : {"sm_80", "sm_90a", "sm_100a"}) {
    ASSERT_TRUE(deviceLimits(arch)) << arch;
    EXPECT_EQ(deviceLimits(arch)->registers, 65536u);
  }
  EXPECT_FALSE(deviceLimits("sm_90"));
  EXPECT_FALSE(deviceLimits(""));
}

TEST(Occupancy, TheScarcestThingBounds) {
  const DeviceLimits& limits = *deviceLimits("sm_90a");
  EXPECT_EQ(occupancyPermille(limits, 256, 32, 0), 1000u) << "8 blocks of 8 warps";
  EXPECT_EQ(occupancyPermille(limits, 256, 33, 0), 750u) << "40 registers a thread: 6 blocks";
  EXPECT_EQ(occupancyPermille(limits, 256, 255, 0), 125u);
  EXPECT_EQ(occupancyPermille(limits, 32, 16, 0), 500u) << "32 blocks of one warp";
  EXPECT_EQ(occupancyPermille(limits, 256, 32, 48 << 10), 500u) << "49 of 228 KiB: 4 blocks";
  EXPECT_EQ(occupancyPermille(*deviceLimits("sm_80"), 256, 32, 48 << 10), 375u) << "49 of 164 KiB: 3 blocks";
}

TEST(Occupancy, WhatDoesNotFitIsNothing) {
  EXPECT_EQ(occupancyPermille(*deviceLimits("sm_80"), 1024, 255, 0), 0u);
  EXPECT_EQ(occupancyPermille(*deviceLimits("sm_80"), 32, 32, 200 << 10), 0u);
}

}  // namespace
}  // namespace kiln::codegen
