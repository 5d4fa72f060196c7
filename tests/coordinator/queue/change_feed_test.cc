#include "coordinator/queue/change_feed.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace kiln::queue {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(ChangeFeed, AChangeBetweenMarkAndWaitIsNotMissed) {
  ChangeFeed feed;
  std::uint64_t mark = feed.workMark();
  feed.publishWork();
  feed.waitForWork(mark, hours(1));
}

TEST(ChangeFeed, WakesTheWatchersOfThatJob) {
  ChangeFeed feed;
  ChangeFeed::JobWatch mine(feed, {"default", "a"}), other(feed, {"default", "b"});
  std::uint64_t mark = mine.mark(), otherMark = other.mark();
  auto woken = std::async(std::launch::async, [&] { mine.wait(mark, hours(1)); });
  feed.publishJob({"default", "a"});
  woken.get();
  EXPECT_EQ(other.mark(), otherMark);
}

TEST(ChangeFeed, ALossWakesEveryone) {
  ChangeFeed feed;
  ChangeFeed::JobWatch watch(feed, {"default", "a"});
  std::uint64_t mark = watch.mark(), work = feed.workMark();
  feed.publishAll();
  watch.wait(mark, hours(1));
  feed.waitForWork(work, hours(1));
}

TEST(ChangeFeed, ClosingEndsWaits) {
  ChangeFeed feed;
  ChangeFeed::JobWatch watch(feed, {"default", "a"});
  auto woken = std::async(std::launch::async, [&] { watch.wait(watch.mark(), hours(1)); });
  feed.close();
  woken.get();
  feed.waitForWork(feed.workMark(), hours(1));
  EXPECT_TRUE(feed.closed());
}

TEST(ChangeFeed, AWaitEndsByItself) {
  ChangeFeed feed;
  feed.waitForWork(feed.workMark(), milliseconds(1));
}

TEST(ChangeFeed, ManyThreads) {
  ChangeFeed feed;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 200; ++n) {
        ChangeFeed::JobWatch watch(feed, {"default", std::to_string(i % 2)});
        feed.publishJob({"default", std::to_string(n % 2)});
        feed.publishWork();
        watch.wait(watch.mark(), milliseconds(0));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace kiln::queue
