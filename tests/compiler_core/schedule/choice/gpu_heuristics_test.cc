// What a block of a device makes is chosen by shape alone, whole warps and within what devices have.
#include "compiler_core/schedule/choice/gpu_heuristics.h"

#include <gtest/gtest.h>

#include <random>

namespace kiln::schedule {
namespace {

TEST(DeviceHeuristics, AnyShapeGetsATileThatDividesIt) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    KernelShape shape{
        static_cast<KernelKind>(random() % 5), {}, static_cast<std::int64_t>(random() % 10000 + 1)};
    for (unsigned rank = random() % 5 + 1; rank > 0; --rank)
      shape.loops.push_back(
          {static_cast<std::int64_t>(random() % 3000 + 1), random() % 4 != 0, random() % 4 == 0});
    const DeviceTile chosen = chooseDeviceTile(shape);
    ASSERT_EQ(chosen.tile.sizes.size(), shape.loops.size());
    EXPECT_FALSE(chosen.tile.rule.empty());
    EXPECT_FALSE(chosen.tile.reason.empty());
    EXPECT_EQ(chosen.threads % 32, 0);
    EXPECT_GE(chosen.threads, 32);
    EXPECT_LE(chosen.threads, 1024);
    for (std::size_t d = 0; d < shape.loops.size(); ++d) {
      EXPECT_GE(chosen.tile.sizes[d], 1);
      EXPECT_LE(chosen.tile.sizes[d], shape.loops[d].extent);
      if (!shape.loops[d].divisible) EXPECT_EQ(chosen.tile.sizes[d], shape.loops[d].extent);
    }
  }
}

TEST(DeviceHeuristics, RowsStayWholeAndShareABlock) {
  const DeviceTile chosen =
      chooseDeviceTile({KernelKind::kReduction, {{4096, true, false}, {1024, false, false}}, 10});
  EXPECT_EQ(chosen.tile.sizes, (std::vector<std::int64_t>{4, 1024}));
  EXPECT_EQ(chosen.threads, 256);
}

TEST(DeviceHeuristics, SharesAreWholeRoundsOfThreads) {
  for (const std::int64_t points : {0, 1, 31, 33, 5000, 1 << 20})
    for (const std::int64_t work : {1, 1000}) {
      const DeviceShare share = chooseDeviceShare(points, work);
      EXPECT_EQ(share.threads % 32, 0);
      EXPECT_EQ(share.results % share.threads, 0);
    }
  // Plenty to do: several results per thread. A long reduction each: one.
  EXPECT_GT(chooseDeviceShare(1 << 20, 3).results, chooseDeviceShare(1 << 20, 3).threads);
  EXPECT_EQ(chooseDeviceShare(1 << 20, 1000).results, chooseDeviceShare(1 << 20, 1000).threads);
}

}  // namespace
}  // namespace kiln::schedule
