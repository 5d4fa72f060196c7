#include "coordinator/queue/change_feed.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace kiln::queue {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

using WorkWatch = ChangeFeed::WorkWatch;

const Work kCompile{index::ActionKind::kCompile, "cpu:x86-64-v3", "default"};

Interest compiles(const std::string& target = "cpu:x86-64-v3") {
  return {{index::ActionKind::kCompile}, {target}, {}, {}};
}

constexpr milliseconds kNow{0};

TEST(ChangeFeed, NewsBetweenALookAndTheWaitAreNotMissed) {
  ChangeFeed feed;
  WorkWatch watch(feed, compiles());
  feed.publishWork(kCompile);
  EXPECT_TRUE(watch.wait(hours(1)));
}

TEST(ChangeFeed, NewsWakeAWaitingWorker) {
  ChangeFeed feed;
  WorkWatch watch(feed, compiles());
  auto woken = std::async(std::launch::async, [&] { return watch.wait(hours(1)); });
  feed.publishWork(kCompile);
  EXPECT_TRUE(woken.get());
}

TEST(ChangeFeed, ARunWakesOneWorkerThatCouldTakeIt) {
  ChangeFeed feed;
  WorkWatch other(feed, compiles("cpu:aarch64")), first(feed, compiles()), second(feed, compiles());
  feed.publishWork(kCompile);
  EXPECT_EQ(first.wait(kNow) + second.wait(kNow), 1);
  EXPECT_FALSE(other.wait(kNow));
}

TEST(ChangeFeed, TwoRunsWakeTwoWorkers) {
  ChangeFeed feed;
  WorkWatch first(feed, compiles()), second(feed, compiles()), third(feed, compiles());
  feed.publishWork(kCompile);
  feed.publishWork(kCompile);
  EXPECT_EQ(first.wait(kNow) + second.wait(kNow) + third.wait(kNow), 2);
}

// A transaction that queues several runs of one kind tells of them once.
TEST(ChangeFeed, WhoTookSomethingHasAnotherLookForMore) {
  ChangeFeed feed;
  WorkWatch second(feed, compiles()), first(feed, compiles());
  feed.publishWork(kCompile);
  ASSERT_TRUE(first.wait(kNow));
  first.looked(true);
  ASSERT_TRUE(second.wait(kNow));
  second.looked(false);
  EXPECT_TRUE(first.wait(kNow)) << "one more, since the second may not have been able to";
  first.looked(false);
  EXPECT_FALSE(second.wait(kNow));
}

TEST(ChangeFeed, WhatAWorkerHasNoUseForGoesOnToOthersButNotForEver) {
  ChangeFeed feed;
  WorkWatch first(feed, compiles()), second(feed, compiles());
  feed.publishWork(kCompile);
  int told = 0;
  for (int i = 0; i < 20; ++i)
    for (WorkWatch* one : {&first, &second})
      if (one->wait(kNow)) {
        ++told;
        one->looked(false);
      }
  EXPECT_EQ(told, 8);
}

TEST(ChangeFeed, NewsOfAWorkerThatIsGoneGoOn) {
  ChangeFeed feed;
  WorkWatch stays(feed, compiles());
  for (const bool awake : {false, true}) {
    {
      WorkWatch gone(feed, compiles());  // told first: it stands first
      feed.publishWork(kCompile);
      if (awake) EXPECT_TRUE(gone.wait(kNow));
      EXPECT_FALSE(stays.wait(kNow));
    }
    EXPECT_TRUE(stays.wait(kNow)) << awake;
    stays.looked(true);
  }
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
  WorkWatch worker(feed, compiles("cpu:aarch64"));
  std::uint64_t mark = watch.mark();
  feed.publishAll();
  watch.wait(mark, hours(1));
  worker.wait(hours(1));
}

TEST(ChangeFeed, ClosingEndsWaits) {
  ChangeFeed feed;
  ChangeFeed::JobWatch watch(feed, {"default", "a"});
  auto woken = std::async(std::launch::async, [&] { watch.wait(watch.mark(), hours(1)); });
  WorkWatch worker(feed, compiles());
  feed.close();
  woken.get();
  worker.wait(hours(1));
  EXPECT_TRUE(feed.closed());
}

TEST(ChangeFeed, AWaitEndsByItself) {
  ChangeFeed feed;
  WorkWatch(feed, compiles()).wait(milliseconds(1));
}

TEST(ChangeFeed, ManyThreads) {
  ChangeFeed feed;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 200; ++n) {
        ChangeFeed::JobWatch watch(feed, {"default", std::to_string(i % 2)});
        feed.publishJob({"default", std::to_string(n % 2)});
        WorkWatch worker(feed, compiles());
        feed.publishWork(kCompile);
        worker.wait(milliseconds(0));
        worker.looked(n % 3 == 0);
        watch.wait(watch.mark(), milliseconds(0));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace kiln::queue
