#include "compiler_core/runtime/parallel/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <vector>

#include "compiler_core/runtime/parallel/fp_state.h"

namespace kiln::runtime {
namespace {

struct Visits {
  std::vector<int> counts;
  std::vector<float> results;
};

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const unsigned threads : {1u, 2u, 5u}) {
    const auto pool = *ThreadPool::start(threads);
    EXPECT_EQ(pool->threads(), threads);
    for (const int tasks : {0, 1, 2, 7, 1000}) {
      Visits visits{std::vector<int>(1000), std::vector<float>(1000)};
      pool->run([](void* env, std::int64_t task,
                   void*) { ++static_cast<Visits*>(env)->counts[static_cast<std::size_t>(task)]; },
                &visits, tasks, {});
      for (int i = 0; i < 1000; ++i) ASSERT_EQ(visits.counts[static_cast<std::size_t>(i)], i < tasks ? 1 : 0);
    }
  }
}

TEST(ThreadPool, NegativeCountsDoNothing) {
  const auto pool = *ThreadPool::start(2);
  pool->run([](void*, std::int64_t, void*) { FAIL(); }, nullptr, -3, {});
}

// Threads beyond the first may find nothing left, and then say nothing.
TEST(ThreadPool, SaysWhatEachThreadDid) {
  for (const unsigned threads : {1u, 4u}) {
    const auto pool = *ThreadPool::start(threads);
    std::vector<ThreadPool::Part> parts(threads);
    const auto before = std::chrono::steady_clock::now();
    pool->run([](void*, std::int64_t, void*) {}, nullptr, 100, {}, parts.data());
    const auto after = std::chrono::steady_clock::now();
    std::int64_t tasks = 0;
    for (const ThreadPool::Part& part : parts) {
      tasks += part.tasks;
      if (part.tasks == 0) continue;
      EXPECT_LE(before, part.start);
      EXPECT_LE(part.start, part.end);
      EXPECT_LE(part.end, after);
    }
    EXPECT_EQ(tasks, 100);
  }
}

// Loop after loop: plain writes of one are read by the next (TSan proves the ordering).
TEST(ThreadPool, WritesAreVisibleAfterwards) {
  const auto pool = *ThreadPool::start(4);
  std::vector<int> values(64, 0);
  for (int round = 0; round < 2000; ++round) {
    pool->run([](void* env, std::int64_t task, void*) { static_cast<int*>(env)[task] += 1; }, values.data(),
              64, {});
    ASSERT_EQ(values[static_cast<std::size_t>(round) % 64], round + 1);
  }
}

// Scratch belongs to one task at a time, is aligned and does not overlap.
TEST(ThreadPool, ScratchIsPrivateToASlot) {
  constexpr std::size_t kStride = 256;
  alignas(64) static std::byte memory[4 * kStride];
  const auto pool = *ThreadPool::start(4);
  std::atomic<int> broken{0};
  pool->run(
      [](void* env, std::int64_t task, void* scratch) {
        auto* const words = static_cast<std::int64_t*>(scratch);
        if (reinterpret_cast<std::uintptr_t>(scratch) % 64 != 0) ++*static_cast<std::atomic<int>*>(env);
        for (std::size_t i = 0; i < kStride / 8; ++i) words[i] = task;
        for (std::size_t i = 0; i < kStride / 8; ++i) {
          if (words[i] != task) ++*static_cast<std::atomic<int>*>(env);
        }
      },
      &broken, 5000, {memory, kStride});
  EXPECT_EQ(broken, 0);
}

TEST(ThreadPool, TasksRunInTheProgramsFloatingPointState) {
  const auto pool = *ThreadPool::start(3);
  const auto before = FpScope::get();
#if defined(__x86_64__)
  FpScope::set(before | 0x8040);  // flush to zero, denormals are zero
#endif
  const auto changed = FpScope::get();
  std::vector<FpScope::State> seen(50);
  pool->run(
      [](void* env, std::int64_t task, void*) {
        static_cast<FpScope::State*>(env)[task] = FpScope::get();
        FpScope::set(FpScope::kProgramState ^ 0x40);  // what a task leaves behind does not reach the next
      },
      seen.data(), 50, {});
  EXPECT_EQ(FpScope::get(), changed);
  FpScope::set(before);
  EXPECT_EQ(std::set<FpScope::State>(seen.begin(), seen.end()),
            std::set<FpScope::State>{FpScope::kProgramState});
}

// Threads that wait longer than they look are woken: workers between loops, the caller while one task lasts.
TEST(ThreadPool, SleepersAreWoken) {
  using Clock = std::chrono::steady_clock;
  static constexpr auto kLong = std::chrono::milliseconds(50);
  const auto pool = *ThreadPool::start(3);
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> done{0};
    pool->run(
        [](void* env, std::int64_t task, void*) {
          const auto until = Clock::now() + task * kLong;
          while (Clock::now() < until) {
          }
          ++*static_cast<std::atomic<int>*>(env);
        },
        &done, 3, {});
    EXPECT_EQ(done, 3);
    const auto until = Clock::now() + kLong;
    while (Clock::now() < until) {
    }
  }
}

TEST(ThreadPool, StartsAndStopsWithoutWork) {
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(ThreadPool::start(3));
}

}  // namespace
}  // namespace kiln::runtime
