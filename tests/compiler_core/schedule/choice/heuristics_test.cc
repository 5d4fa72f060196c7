#include "compiler_core/schedule/choice/heuristics.h"

#include <gtest/gtest.h>

#include <random>

namespace kiln::schedule {
namespace {

TEST(Heuristics, TilesDivideTheShapeWhateverItIs) {
  std::mt19937 random(3);
  for (const KernelKind kind :
       {KernelKind::kContraction, KernelKind::kConvolution, KernelKind::kReduction, KernelKind::kElementwise})
    for (int round = 0; round < 500; ++round) {
      KernelShape shape{kind, {}, 1 + static_cast<std::int64_t>(random() % 5000)};
      for (unsigned i = 0, rank = 1 + random() % 5; i < rank; ++i)
        shape.loops.push_back({1 + static_cast<std::int64_t>(random() % 2100), random() % 4 != 0});
      const Tile tile = chooseTile(shape);
      ASSERT_EQ(tile.sizes.size(), shape.loops.size());
      EXPECT_FALSE(tile.reason.empty());
      for (std::size_t i = 0; i < tile.sizes.size(); ++i) {
        ASSERT_GT(tile.sizes[i], 0);
        EXPECT_EQ(shape.loops[i].extent % tile.sizes[i], 0);
        if (!shape.loops[i].divisible) {
          EXPECT_EQ(tile.sizes[i], shape.loops[i].extent);
        }
      }
    }
}

TEST(Heuristics, ASmallKernelIsOneTask) {
  const Tile tile = chooseTile({KernelKind::kContraction, {{16, true}, {64, true}}, 3 * 64});
  EXPECT_EQ(tile.sizes, (std::vector<std::int64_t>{16, 64}));
}

TEST(Heuristics, ALargeContractionKeepsWholeRegisterBlocks) {
  const Tile tile = chooseTile({KernelKind::kContraction, {{1920, true}, {2048, true}}, 3 * 1024});
  EXPECT_EQ(tile.sizes[0] % 6, 0);
  EXPECT_EQ(tile.sizes[1] % 64, 0);
  EXPECT_LE(tile.sizes[0], 256);
  EXPECT_LE(tile.sizes[1], 256);
}

TEST(Heuristics, ManyRowsShareThePanelsOfAProductWhereTasksAreEnough) {
  const auto square = [](std::int64_t size) {
    return chooseTile({KernelKind::kContraction, {{size, true}, {size, true}}, 3 * size}).sizes;
  };
  EXPECT_EQ(square(2048), (std::vector<std::int64_t>{256, 256}));
  EXPECT_EQ(square(1024), (std::vector<std::int64_t>{256, 256}));
  EXPECT_EQ(square(512), (std::vector<std::int64_t>{128, 128}));
}

TEST(Heuristics, AConvolutionKeepsImageRowsWholeAndChannelsTogether) {
  const Tile tile =
      chooseTile({KernelKind::kConvolution, {{4, true}, {128, true}, {56, true}, {56, true}}, 3 * 1152});
  EXPECT_EQ(tile.sizes[0], 1);
  EXPECT_GE(tile.sizes[1], 64);
  EXPECT_EQ(tile.sizes[2], 7);
  EXPECT_EQ(tile.sizes[3], 56);
}

TEST(Heuristics, ChannelsOfAConvolutionAreSharedOutOnlyWhileTasksAreFew) {
  const auto channels = [](std::int64_t size) {
    return chooseTile(
               {KernelKind::kConvolution, {{1, true}, {256, true}, {size, true}, {size, true}}, 3 * 1152})
        .sizes[1];
  };
  EXPECT_EQ(channels(56), 256);
  EXPECT_EQ(channels(7), 64);
}

TEST(Heuristics, TwoThreadsHaveAsManyTasksOfAConvolutionEach) {
  const auto tasks = [](std::int64_t channels, std::int64_t size, std::int64_t lanes) {
    KernelShape shape{
        KernelKind::kConvolution, {{1, true}, {channels, true}, {size, true}, {size, true}}, 3 * 512};
    shape.channelLanes = lanes;
    const Tile tile = chooseTile(shape);
    if (lanes) EXPECT_EQ(tile.sizes[1] % lanes, 0);
    return channels / tile.sizes[1] * (size / tile.sizes[2]);
  };
  EXPECT_EQ(tasks(1000, 13, 0), 10);
  EXPECT_EQ(tasks(128, 27, 0), 6);
  EXPECT_EQ(tasks(192, 13, 48), 2);
  EXPECT_EQ(tasks(64, 13, 32), 2);
  // No whole panel less than that.
  EXPECT_EQ(tasks(48, 13, 48), 1);
}

TEST(Heuristics, SymbolicLoopsAreCutForWhatIsExpected) {
  // 100 rows are expected; tiles need not divide them.
  const Tile tile = chooseTile({KernelKind::kElementwise, {{100, true, true}, {4096, true, false}}, 1});
  EXPECT_EQ(tile.sizes, (std::vector<std::int64_t>{32, 4096}));
  // A loop that others do not follow stays whole.
  EXPECT_EQ(chooseTile({KernelKind::kReduction, {{100, false, true}, {4096, true, false}}, 1}).sizes[0], 100);
}

}  // namespace
}  // namespace kiln::schedule
