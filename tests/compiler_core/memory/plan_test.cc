#include "compiler_core/memory/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kiln::memory {
namespace {

bool together(const Buffer& a, const Buffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

// No two buffers that live at the same time share a byte, and all lie inside the peak.
void expectValid(const std::vector<Buffer>& buffers, const Plan& result) {
  ASSERT_EQ(result.offsets.size(), buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(result.offsets[i] % kAlignment, 0u);
    EXPECT_LE(result.offsets[i] + buffers[i].bytes, result.peak);
    for (std::size_t j = 0; j < i; ++j)
      if (together(buffers[i], buffers[j])) {
        EXPECT_TRUE(result.offsets[i] + buffers[i].bytes <= result.offsets[j] ||
                    result.offsets[j] + buffers[j].bytes <= result.offsets[i])
            << i << " and " << j << " overlap";
      }
  }
}

TEST(Plan, NothingNeedsNothing) {
  const Plan empty = plan({});
  EXPECT_EQ(empty.peak, 0u);
  EXPECT_TRUE(empty.offsets.empty());
}

TEST(Plan, AChainUsesTwoPlaces) {
  // Each value is read by the next operation only: two of them alternate.
  std::vector<Buffer> chain;
  for (std::uint32_t i = 0; i < 10; ++i) chain.push_back({1024, i, i + 1});
  const Plan result = plan(chain);
  expectValid(chain, result);
  EXPECT_EQ(result.peak, 2048u);
  EXPECT_EQ(result.total, 10240u);
}

TEST(Plan, SizesAreAligned) {
  const std::vector<Buffer> buffers = {{1, 0, 5}, {65, 0, 5}, {64, 0, 5}};
  const Plan result = plan(buffers);
  expectValid(buffers, result);
  EXPECT_EQ(result.peak, 64u + 128u + 64u);
}

TEST(Plan, AGapIsFilled) {
  // The small one fits below the large one that is alive later.
  const std::vector<Buffer> buffers = {{4096, 0, 1}, {8192, 2, 3}, {1024, 1, 2}};
  const Plan result = plan(buffers);
  expectValid(buffers, result);
  EXPECT_EQ(result.peak, 8192u + 1024u);
}

TEST(Plan, WhatLiesAtTheEndIsPlacedEarlier) {
  // Every order of its own takes 11 units; 9 are alive at one time.
  const std::vector<Buffer> buffers = {{192, 2, 2}, {128, 3, 3}, {128, 1, 4},
                                       {384, 1, 1}, {320, 5, 5}, {256, 4, 7}};
  const Plan result = plan(buffers);
  expectValid(buffers, result);
  EXPECT_EQ(result.peak, 9 * 64u);
  EXPECT_EQ(result.lowerBound, result.peak);
}

// The most aligned bytes alive at one time, counted the slow way.
std::uint64_t mostAlive(const std::vector<Buffer>& buffers, std::uint32_t end) {
  std::uint64_t most = 0;
  for (std::uint32_t time = 0; time < end; ++time) {
    std::uint64_t alive = 0;
    for (const Buffer& buffer : buffers)
      if (buffer.first <= time && time <= buffer.last)
        alive += (buffer.bytes + kAlignment - 1) / kAlignment * kAlignment;
    most = std::max(most, alive);
  }
  return most;
}

TEST(Plan, RandomLifetimesNeverOverlapAndNeverExceedTheSum) {
  std::mt19937 random(7);
  double worst = 1, sum = 0;
  int counted = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<Buffer> buffers(random() % 80);
    for (Buffer& buffer : buffers) {
      buffer.bytes = random() % 5000;
      buffer.first = random() % 40;
      buffer.last = buffer.first + random() % (round % 2 ? 10 : 40);
    }
    const Plan result = plan(buffers);
    expectValid(buffers, result);
    EXPECT_EQ(result.lowerBound, mostAlive(buffers, 80));
    EXPECT_GE(result.peak, result.lowerBound);
    EXPECT_LE(result.peak, result.total);
    EXPECT_EQ(result.offsets, plan(buffers).offsets);
    if (buffers.size() < 10) continue;
    const double ratio = static_cast<double>(result.peak) / static_cast<double>(result.lowerBound);
    worst = std::max(worst, ratio);
    sum += ratio;
    ++counted;
  }
  EXPECT_LT(sum / counted, 1.05) << "worst " << worst;
}

TEST(Plan, AnotherOrderHelpsWhereLargestFirstFails) {
  // Largest first puts the long-lived small one on top of both large ones' places.
  const std::vector<Buffer> buffers = {{3072, 0, 1}, {2048, 1, 3}, {3072, 3, 4}, {1024, 2, 5}, {1024, 0, 2}};
  const Plan result = plan(buffers);
  expectValid(buffers, result);
  EXPECT_EQ(result.peak, result.lowerBound);
}

TEST(Plan, ManyBuffersAreNoTrouble) {
  std::vector<Buffer> chain;
  for (std::uint32_t i = 0; i < 20000; ++i) chain.push_back({64u << (i % 7), i, i + 1 + i % 3});
  expectValid({chain.begin(), chain.begin() + 100}, plan({chain.begin(), chain.begin() + 100}));
  const Plan result = plan(chain);
  EXPECT_LE(result.peak, 2 * result.lowerBound);
}

// What aliveOverTime says, by looking at every step.
std::vector<std::uint64_t> aliveByStep(const std::vector<Buffer>& buffers, std::size_t points) {
  std::uint64_t begin = ~0u, end = 0;
  for (const Buffer& buffer : buffers) {
    begin = std::min<std::uint64_t>(begin, buffer.first);
    end = std::max<std::uint64_t>(end, buffer.last);
  }
  const std::uint64_t steps = end - begin + 1;
  std::vector<std::uint64_t> most(std::min<std::uint64_t>(points, steps));
  for (std::uint64_t step = begin; step <= end; ++step) {
    std::uint64_t now = 0;
    for (const Buffer& buffer : buffers)
      if (buffer.first <= step && step <= buffer.last)
        now += (buffer.bytes + kAlignment - 1) / kAlignment * kAlignment;
    std::uint64_t& point = most[(step - begin) * most.size() / steps];
    point = std::max(point, now);
  }
  return most;
}

TEST(AliveOverTime, APointPerStepOrTheMostOfSeveral) {
  EXPECT_TRUE(aliveOverTime({}, 64).empty());
  const std::vector<Buffer> buffers = {{64, 3, 4}, {128, 4, 5}, {64, 7, 7}};
  EXPECT_EQ(aliveOverTime(buffers, 64), (std::vector<std::uint64_t>{64, 192, 128, 0, 64}));
  EXPECT_EQ(aliveOverTime(buffers, 2), (std::vector<std::uint64_t>{192, 64}));
  EXPECT_TRUE(aliveOverTime(buffers, 0).empty());
}

TEST(AliveOverTime, IsWhatEveryStepSays) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Buffer> buffers(1 + random() % 40);
    for (Buffer& buffer : buffers) {
      buffer.first = random() % 200;
      buffer.last = buffer.first + random() % 60;
      buffer.bytes = random() % 1000;
    }
    const std::size_t points = 1 + random() % 80;
    const auto alive = aliveOverTime(buffers, points);
    EXPECT_EQ(alive, aliveByStep(buffers, points)) << "round " << round;
    EXPECT_EQ(*std::max_element(alive.begin(), alive.end()), plan(buffers).lowerBound);
  }
}

}  // namespace
}  // namespace kiln::memory
