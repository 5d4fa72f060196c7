// Blocks of threads on fibers: barriers, orders, poisoned memory, and what must be noticed.
#include "compiler_core/runtime/emulated/block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "compiler_core/runtime/emulated/device.h"
#include "compiler_core/runtime/emulated/grid.h"

namespace kiln::emulated {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kThreads = 96;

std::string runBlock(kiln_emulated_kernel kernel, std::vector<std::uint64_t> arguments, Order order,
                     std::uint32_t shared = 0) {
  const kiln_emulated_entry entry{"kernel", kernel, kThreads, shared, 0, 0, ""};
  BlockRunner runner(order);
  return runner.run({&entry, arguments.data(), 0, 0, 0, 0});
}
template <class T>
std::uint64_t word(T* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// Each thread reads what another one wrote; `guarded`: after a barrier.
template <bool guarded>
void neighbour(const std::uint64_t* arguments, kiln_emulated_thread* thread) {
  auto* const shared = static_cast<float*>(thread->shared);
  auto* const result = reinterpret_cast<float*>(arguments[0]);
  shared[thread->thread] = static_cast<float>(thread->thread);
  if (guarded) thread->barrier(thread);
  result[thread->thread] = shared[(thread->thread + 1) % kThreads];
}

TEST(Block, ABarrierMakesEveryOrderGiveTheSame) {
  for (const Order order : {Order::kAscending, Order::kDescending, Order::kShuffled}) {
    std::vector<float> result(kThreads);
    EXPECT_EQ(runBlock(&neighbour<true>, {word(result.data())}, order, kThreads * 4), "");
    for (std::uint32_t i = 0; i < kThreads; ++i) EXPECT_EQ(result[i], static_cast<float>((i + 1) % kThreads));
  }
}

TEST(Block, AMissingBarrierShowsInEveryOrder) {
  for (const Order order : {Order::kAscending, Order::kDescending, Order::kShuffled}) {
    std::vector<float> result(kThreads);
    EXPECT_EQ(runBlock(&neighbour<false>, {word(result.data())}, order, kThreads * 4), "");
    int wrong = 0;
    for (const float value : result) wrong += std::isnan(value) ? 1 : 0;
    EXPECT_GT(wrong, 0) << "shared memory must start as NaN, and threads must not run side by side";
  }
}

void logOrder(const std::uint64_t* arguments, kiln_emulated_thread* thread) {
  auto& log = *reinterpret_cast<std::vector<std::uint32_t>*>(arguments[0]);
  log.push_back(thread->thread);
  thread->barrier(thread);
  log.push_back(thread->thread);
}

TEST(Block, ThreadsTakeTurnsInTheChosenOrder) {
  std::vector<std::uint32_t> up, down, mixed;
  EXPECT_EQ(runBlock(&logOrder, {word(&up)}, Order::kAscending), "");
  EXPECT_EQ(runBlock(&logOrder, {word(&down)}, Order::kDescending), "");
  EXPECT_EQ(runBlock(&logOrder, {word(&mixed)}, Order::kShuffled), "");
  ASSERT_EQ(up.size(), 2 * kThreads);
  ASSERT_EQ(mixed.size(), 2 * kThreads);
  for (std::uint32_t i = 0; i < 2 * kThreads; ++i) {
    EXPECT_EQ(up[i], i % kThreads);
    EXPECT_EQ(down[i], kThreads - 1 - i % kThreads);
  }
  EXPECT_NE(mixed, up);
  EXPECT_NE(std::vector(mixed.begin(), mixed.begin() + kThreads),
            std::vector(mixed.begin() + kThreads, mixed.end()));
}

void diverge(const std::uint64_t*, kiln_emulated_thread* thread) {
  if (thread->thread % 2 == 0) thread->barrier(thread);
}

TEST(Block, ABarrierThatSomePassByIsNoticed) {
  for (const Order order : {Order::kAscending, Order::kDescending, Order::kShuffled})
    EXPECT_THAT(runBlock(&diverge, {}, order), HasSubstr("divergent barrier: 48 of 96 threads wait at it"));
}

void partOfAWarp(const std::uint64_t*, kiln_emulated_thread* thread) {
  const std::uint32_t in[KILN_COLLECTIVE_MMA_INPUTS] = {};
  std::uint32_t out[KILN_COLLECTIVE_MMA_OUTPUTS];
  if (thread->thread != 40) thread->collective(thread, KILN_COLLECTIVE_MMA_TF32_M16N8K8, in, out);
}
void twoKinds(const std::uint64_t*, kiln_emulated_thread* thread) {
  const std::uint32_t in[KILN_COLLECTIVE_MMA_INPUTS] = {};
  std::uint32_t out[KILN_COLLECTIVE_MMA_OUTPUTS];
  thread->collective(thread, thread->thread % 2, in, out);
}
void unknownKind(const std::uint64_t*, kiln_emulated_thread* thread) {
  const std::uint32_t in[KILN_COLLECTIVE_MMA_INPUTS] = {};
  std::uint32_t out[KILN_COLLECTIVE_MMA_OUTPUTS];
  thread->collective(thread, 99, in, out);
}

TEST(Block, AStepWithoutTheWholeWarpIsNoticed) {
  EXPECT_THAT(runBlock(&partOfAWarp, {}, Order::kShuffled), HasSubstr("31 of 96 threads wait for a step"));
  EXPECT_THAT(runBlock(&twoKinds, {}, Order::kAscending), HasSubstr("96 of 96"));
  EXPECT_THAT(runBlock(&unknownKind, {}, Order::kAscending), HasSubstr("unknown kind 99"));
}

// Each warp multiplies ones by ones and adds, twice, with a barrier between.
void steps(const std::uint64_t* arguments, kiln_emulated_thread* thread) {
  std::uint32_t in[KILN_COLLECTIVE_MMA_INPUTS] = {}, out[KILN_COLLECTIVE_MMA_OUTPUTS] = {};
  for (int i = 0; i < 6; ++i) in[i] = 0x3f803f80;  // bf16 1, 1
  thread->collective(thread, KILN_COLLECTIVE_MMA_BF16_M16N8K16, in, out);
  for (int i = 0; i < 4; ++i) in[6 + i] = out[i];
  thread->barrier(thread);
  thread->collective(thread, KILN_COLLECTIVE_MMA_BF16_M16N8K16, in, out);
  reinterpret_cast<float*>(arguments[0])[thread->thread] = std::bit_cast<float>(out[3]);
}

TEST(Block, WarpsStepTogetherInEveryOrder) {
  for (const Order order : {Order::kAscending, Order::kDescending, Order::kShuffled}) {
    std::vector<float> result(kThreads);
    EXPECT_EQ(runBlock(&steps, {word(result.data())}, order), "");
    EXPECT_THAT(result, testing::Each(32.0f));
  }
}

__attribute__((no_sanitize("all"))) void beyondShared(const std::uint64_t* arguments,
                                                      kiln_emulated_thread* thread) {
  if (thread->thread == 5) static_cast<volatile char*>(thread->shared)[arguments[0]] = 1;
}

TEST(Block, AWriteBehindSharedMemoryIsTheThreadsError) {
  EXPECT_EQ(runBlock(&beyondShared, {255}, Order::kAscending, 256), "");
  EXPECT_THAT(runBlock(&beyondShared, {256}, Order::kAscending, 256),
              HasSubstr("thread 5 reads or writes outside of memory"));
  EXPECT_EQ(runBlock(&beyondShared, {255}, Order::kAscending, 256), "") << "and the next one runs";
}

void addresses(const std::uint64_t* arguments, kiln_emulated_thread* thread) {
  volatile int here = 0;
  auto& seen = *reinterpret_cast<std::vector<std::uint64_t>*>(arguments[0]);
  seen.push_back(word(const_cast<int*>(&here)));
  if (arguments[1] != 0) thread->barrier(thread);
}

TEST(Block, OnlyThreadsThatWaitNeedAStackOfTheirOwn) {
  std::vector<std::uint64_t> seen;
  EXPECT_EQ(runBlock(&addresses, {word(&seen), 1}, Order::kAscending), "");
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_NE(seen[i], seen[i - 1]);
}

// Counts itself in a word per block.
void count(const std::uint64_t* arguments, kiln_emulated_thread* thread) {
  auto* const blocks = reinterpret_cast<std::uint32_t*>(arguments[0]);
  thread->barrier(thread);
  ++blocks[(thread->block_z * 3 + thread->block_y) * 5 + thread->block_x];
}
void logBlocks(const std::uint64_t* arguments, kiln_emulated_thread* thread) {
  if (thread->thread == 0)
    reinterpret_cast<std::vector<std::uint32_t>*>(arguments[0])->push_back(thread->block_x);
}
void failInBlock7(const std::uint64_t*, kiln_emulated_thread* thread) {
  if (thread->block_x == 7 && thread->thread == 0) thread->barrier(thread);
}

TEST(Grid, EveryBlockRunsOnceOnAnyNumberOfThreads) {
  const kiln_emulated_entry entry{"kernel", &count, kThreads, 0, 1, 0, "p"};
  for (const unsigned threads : {1u, 2u, 7u}) {
    std::vector<std::uint32_t> blocks(30);
    GridRunner grid(Order::kDescending, threads);
    EXPECT_EQ(grid.run({nullptr, &entry, {5, 3, 2}, {word(blocks.data())}}), "");
    EXPECT_THAT(blocks, testing::Each(kThreads));
  }
}

TEST(Grid, BlocksStartInTheChosenOrder) {
  const kiln_emulated_entry entry{"kernel", &logBlocks, kThreads, 0, 1, 0, "p"};
  for (const std::uint32_t count : {1u, 2u, 3u, 12u, 210u, 997u}) {
    std::vector<std::uint32_t> up(count);
    std::iota(up.begin(), up.end(), 0u);
    for (const Order order : {Order::kAscending, Order::kDescending, Order::kShuffled}) {
      std::vector<std::uint32_t> log;
      GridRunner grid(order, 1);
      EXPECT_EQ(grid.run({nullptr, &entry, {count, 1, 1}, {word(&log)}}), "");
      if (order == Order::kDescending) std::reverse(log.begin(), log.end());
      if (order == Order::kShuffled) {
        EXPECT_TRUE(count < 3 || !std::is_sorted(log.begin(), log.end())) << count;
        std::sort(log.begin(), log.end());
      }
      EXPECT_EQ(log, up) << count;
    }
  }
}

TEST(Grid, TheBlockThatFailsIsNamed) {
  const kiln_emulated_entry entry{"kernel", &failInBlock7, kThreads, 0, 0, 0, ""};
  GridRunner grid(Order::kAscending, 2);
  EXPECT_THAT(grid.run({nullptr, &entry, {20, 1, 1}, {}}), HasSubstr("block 7: divergent barrier"));
}

}  // namespace
}  // namespace kiln::emulated
