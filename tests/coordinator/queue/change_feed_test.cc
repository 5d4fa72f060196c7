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

void ignore() {}

TEST(ChangeFeed, NewsOfALookAreForTheNextOne) {
  ChangeFeed feed;
  WorkWatch watch(feed, compiles(), ignore);
  EXPECT_FALSE(watch.looks());
  feed.publishWork(kCompile);
  watch.looked(false);
  EXPECT_TRUE(watch.looks());
  EXPECT_FALSE(watch.looks());
}

TEST(ChangeFeed, AWaitingWorkerIsToldOnceUntilItLooks) {
  ChangeFeed feed;
  int told = 0;
  WorkWatch watch(feed, compiles(), [&] { ++told; });
  feed.publishWork(kCompile);
  feed.publishWork(kCompile);
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(watch.looks());
  feed.publishWork(kCompile);
  EXPECT_EQ(told, 2);
}

TEST(ChangeFeed, ARunWakesOneWorkerThatCouldTakeIt) {
  ChangeFeed feed;
  WorkWatch other(feed, compiles("cpu:aarch64"), ignore), first(feed, compiles(), ignore),
      second(feed, compiles(), ignore);
  feed.publishWork(kCompile);
  EXPECT_EQ(first.looks() + second.looks(), 1);
  EXPECT_FALSE(other.looks());
}

TEST(ChangeFeed, TwoRunsWakeTwoWorkers) {
  ChangeFeed feed;
  WorkWatch first(feed, compiles(), ignore), second(feed, compiles(), ignore),
      third(feed, compiles(), ignore);
  feed.publishWork(kCompile);
  feed.publishWork(kCompile);
  EXPECT_EQ(first.looks() + second.looks() + third.looks(), 2);
}

TEST(ChangeFeed, WhoWasToldLastIsToldLastAgain) {
  ChangeFeed feed;
  WorkWatch first(feed, compiles(), ignore), second(feed, compiles(), ignore);
  feed.publishWork(kCompile);
  const bool firstWasTold = first.looks();
  EXPECT_NE(firstWasTold, second.looks());
  feed.publishWork(kCompile);
  EXPECT_EQ(first.looks(), !firstWasTold);
}

// A transaction that queues several runs of one kind tells of them once.
TEST(ChangeFeed, WhoTookSomethingHasAnotherLookForMore) {
  ChangeFeed feed;
  WorkWatch second(feed, compiles(), ignore), first(feed, compiles(), ignore);
  feed.publishWork(kCompile);
  ASSERT_TRUE(first.looks());
  first.looked(true);
  ASSERT_TRUE(second.looks());
  second.looked(false);
  EXPECT_TRUE(first.looks()) << "one more, since the second may not have been able to";
  first.looked(false);
  EXPECT_FALSE(second.looks());
}

TEST(ChangeFeed, WhatAWorkerHasNoUseForGoesOnToOthersButNotForEver) {
  ChangeFeed feed;
  WorkWatch first(feed, compiles(), ignore), second(feed, compiles(), ignore);
  feed.publishWork(kCompile);
  int told = 0;
  for (int i = 0; i < 20; ++i)
    for (WorkWatch* one : {&first, &second})
      if (one->looks()) {
        ++told;
        one->looked(false);
      }
  EXPECT_EQ(told, 8);
}

TEST(ChangeFeed, NewsOfAWorkerThatIsGoneGoOn) {
  ChangeFeed feed;
  WorkWatch stays(feed, compiles(), ignore);
  for (const bool awake : {false, true}) {
    {
      WorkWatch gone(feed, compiles(), ignore);  // told first: it stands first
      feed.publishWork(kCompile);
      if (awake) EXPECT_TRUE(gone.looks());
      EXPECT_FALSE(stays.looks());
    }
    EXPECT_TRUE(stays.looks()) << awake;
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

TEST(ChangeFeed, NewsOfAJobThatNobodyWatchesAreNobodys) {
  ChangeFeed feed;
  EXPECT_NO_THROW(feed.publishJob({"default", "a"}));
  ChangeFeed::JobWatch late(feed, {"default", "a"});
  const std::uint64_t mark = late.mark();
  feed.publishJob({"default", "b"});
  EXPECT_EQ(late.mark(), mark);
}

TEST(ChangeFeed, ALossWakesEveryone) {
  ChangeFeed feed;
  ChangeFeed::JobWatch watch(feed, {"default", "a"});
  WorkWatch worker(feed, compiles("cpu:aarch64"), ignore);
  std::uint64_t mark = watch.mark();
  feed.publishAll();
  watch.wait(mark, hours(1));
  EXPECT_TRUE(worker.looks());
}

TEST(ChangeFeed, ClosingEndsWaits) {
  ChangeFeed feed;
  ChangeFeed::JobWatch watch(feed, {"default", "a"});
  auto woken = std::async(std::launch::async, [&] { watch.wait(watch.mark(), hours(1)); });
  int told = 0;
  WorkWatch worker(feed, compiles(), [&] { ++told; });
  feed.close();
  woken.get();
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(worker.looks());
  EXPECT_TRUE(feed.closed());
}

TEST(ChangeFeed, WhoWaitsForTheEndWaitsForAsLongAsItSaid) {
  ChangeFeed feed;
  const auto begin = std::chrono::steady_clock::now();
  feed.waitUntilClosed(milliseconds(20));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(20));
  EXPECT_FALSE(feed.closed());
  feed.close();
  feed.waitUntilClosed(hours(1));
  EXPECT_TRUE(feed.closed());
}

TEST(ChangeFeed, ManyThreads) {
  ChangeFeed feed;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 200; ++n) {
        ChangeFeed::JobWatch watch(feed, {"default", std::to_string(i % 2)});
        feed.publishJob({"default", std::to_string(n % 2)});
        WorkWatch worker(feed, compiles(), ignore);
        feed.publishWork(kCompile);
        worker.looks();
        worker.looked(n % 3 == 0);
        watch.wait(watch.mark(), milliseconds(0));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace kiln::queue
