#include "coordinator/queue/device_choice.h"

#include <gtest/gtest.h>

namespace kiln::queue {
namespace {

using Names = std::vector<std::string>;

const std::vector<ClaimedDevice> kDevices{{"cpu", {"cpu:x86-64-v3", "cpu:x86-64-v4"}, false},
                                          {"gpu0", {"cuda:sm_80"}, false},
                                          {"gpu1", {"cuda:sm_90a"}, true}};

TEST(DeviceChoice, EmulatedDevicesServeOnlyWhatAsksForThem) {
  EXPECT_EQ(servedBy(kDevices, false), (Names{"cpu:x86-64-v3", "cpu:x86-64-v4", "cuda:sm_80"}));
  EXPECT_EQ(servedBy(kDevices, true), (Names{"cpu:x86-64-v3", "cpu:x86-64-v4", "cuda:sm_90a"}));
}

TEST(DeviceChoice, EachPartOfATargetHasItsDevice) {
  EXPECT_EQ(devicesFor("cuda:sm_80", false, kDevices), Names{"gpu0"});
  EXPECT_EQ(devicesFor("cpu:x86-64-v4,cuda:sm_80", false, kDevices), (Names{"cpu", "gpu0"}));
  EXPECT_EQ(devicesFor("cpu:x86-64-v4,cpu:x86-64-v3", false, kDevices), Names{"cpu"});
  EXPECT_EQ(devicesFor("cuda:sm_90a", true, kDevices), Names{"gpu1"});
  EXPECT_EQ(devicesFor("cuda:sm_90a", false, kDevices), Names{});
}

TEST(DeviceChoice, NothingIsServedTwice) {
  std::vector<ClaimedDevice> two = kDevices;
  two.push_back({"gpu2", {"cuda:sm_80"}, false});
  EXPECT_EQ(servedBy(two, false), servedBy(kDevices, false));
  EXPECT_EQ(devicesFor("cuda:sm_80", false, two), Names{"gpu0"});
}

}  // namespace
}  // namespace kiln::queue
