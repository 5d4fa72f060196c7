// The agent's decisions, without RPC, threads or sleeps.
#include "worker/agent/reconciler.h"

#include <gtest/gtest.h>

#include <random>

#include "worker/agent/pacer.h"

namespace kiln::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

v1::SynchronizeResponse answer(std::vector<LeaseKey> run, std::vector<std::string> forget = {}) {
  v1::SynchronizeResponse response;
  for (const LeaseKey& key : run) {
    v1::Lease* lease = response.add_run();
    lease->set_id(key.id);
    lease->set_epoch(key.epoch);
  }
  for (const std::string& id : forget) response.add_forget(id);
  return response;
}

std::string show(const Changes& changes) {
  std::string text;
  for (const auto& start : changes.start) {
    text += "+" + start.lease.id() + "/" + std::to_string(start.lease.epoch()) + "@" +
            std::to_string(start.slot) + " ";
  }
  for (const LeaseKey& key : changes.stop) text += "-" + key.id + "/" + std::to_string(key.epoch) + " ";
  return text;
}

std::string show(const std::vector<v1::LeaseReport>& reports) {
  std::string text;
  for (const auto& report : reports) {
    text += report.lease_id() + "/" + std::to_string(report.epoch()) + ":" +
            (report.has_finished() ? "finished" + std::to_string(report.finished().result().exit_code())
                                   : "running " + report.running().stage()) +
            " ";
  }
  return text;
}

v1::Finished exited(int code) {
  v1::Finished report;
  report.mutable_result()->set_exit_code(code);
  return report;
}

TEST(Reconciler, ALeaseRunsOnceIsReportedUntilForgotten) {
  Reconciler reconciler(2);
  EXPECT_EQ(show(reconciler.apply(answer({{"a", 1}}))), "+a/1@0 ");
  EXPECT_EQ(show(reconciler.apply(answer({{"a", 1}}))), "") << "said again, not started again";
  EXPECT_EQ(show(reconciler.reports()), "a/1:running  ");
  EXPECT_TRUE(reconciler.stage({"a", 1}, "codegen"));
  EXPECT_EQ(show(reconciler.reports()), "a/1:running codegen ");
  EXPECT_TRUE(reconciler.ended({"a", 1}, exited(4)));
  EXPECT_EQ(show(reconciler.reports()), "a/1:finished4 ");
  // The answer to a call made before it ended still lists it.
  EXPECT_EQ(show(reconciler.apply(answer({{"a", 1}}))), "");
  EXPECT_EQ(show(reconciler.reports()), "a/1:finished4 ");
  // An answer that says nothing about it does not lose the result either.
  EXPECT_EQ(show(reconciler.apply(answer({}))), "");
  EXPECT_EQ(show(reconciler.reports()), "a/1:finished4 ");
  EXPECT_EQ(show(reconciler.apply(answer({}, {"a"}))), "");
  EXPECT_TRUE(reconciler.idle());
}

TEST(Reconciler, WhatAStoppedTunerHadMeasuredIsReported) {
  Reconciler reconciler(1);
  v1::SynchronizeResponse tune = answer({{"a", 1}});
  tune.mutable_run(0)->set_kind(v1::ACTION_TUNE);
  reconciler.apply(tune);
  EXPECT_EQ(show(reconciler.apply(answer({}, {"a"}))), "-a/1 ");
  EXPECT_TRUE(reconciler.ended({"a", 1}, exited(0)));
  EXPECT_EQ(show(reconciler.reports()), "a/1:finished0 ");
  EXPECT_EQ(show(reconciler.apply(answer({}, {"a"}))), "");
  EXPECT_TRUE(reconciler.idle());
  reconciler.apply(tune);
  reconciler.apply(answer({}, {"a"}));
  v1::Finished nothing;
  nothing.set_error_code(static_cast<int>(Code::kUnavailable));
  EXPECT_FALSE(reconciler.ended({"a", 1}, nothing));
  EXPECT_TRUE(reconciler.idle());
}

TEST(Reconciler, WhatIsNotWantedAnyMoreStopsAndLeavesNoReport) {
  Reconciler reconciler(2);
  (void)reconciler.apply(answer({{"a", 1}, {"b", 1}}));
  EXPECT_EQ(show(reconciler.apply(answer({{"a", 1}}))), "-b/1 ");
  EXPECT_EQ(show(reconciler.apply(answer({{"a", 1}}))), "") << "told once";
  EXPECT_EQ(show(reconciler.reports()), "a/1:running  ");
  EXPECT_EQ(reconciler.freeSlots(), 0) << "the slot is taken until the action is gone";
  EXPECT_FALSE(reconciler.stage({"b", 1}, "late"));
  EXPECT_FALSE(reconciler.ended({"b", 1}, exited(0)));
  EXPECT_EQ(reconciler.freeSlots(), 1);
  EXPECT_EQ(show(reconciler.apply(answer({{"a", 1}}, {"a"}))), "-a/1 ") << "forget wins over run";
}

TEST(Reconciler, ANewEpochReplacesTheOldRun) {
  Reconciler reconciler(1);
  (void)reconciler.apply(answer({{"a", 1}}));
  EXPECT_EQ(show(reconciler.apply(answer({{"a", 2}}))), "-a/1 ");
  EXPECT_FALSE(reconciler.ended({"a", 1}, exited(0))) << "the old epoch's result is not reported";
  EXPECT_EQ(show(reconciler.apply(answer({{"a", 2}}))), "+a/2@0 ");
  EXPECT_FALSE(reconciler.ended({"a", 1}, exited(0)));
  EXPECT_EQ(show(reconciler.apply(answer({{"a", 1}}))), "")
      << "a late answer does not bring the old epoch back";
  EXPECT_TRUE(reconciler.ended({"a", 2}, exited(0)));
  EXPECT_EQ(show(reconciler.apply(answer({{"a", 3}}))), "+a/3@0 ") << "a report nobody took is dropped";
}

TEST(Reconciler, OnlyAsManyAsThereAreSlotsAndEachSlotOnce) {
  Reconciler reconciler(2);
  EXPECT_EQ(show(reconciler.apply(answer({{"a", 1}, {"b", 1}, {"c", 1}}))), "+a/1@0 +b/1@1 ");
  EXPECT_TRUE(reconciler.ended({"a", 1}, exited(0)));
  EXPECT_EQ(show(reconciler.apply(answer({{"b", 1}, {"c", 1}}, {"a"}))), "+c/1@0 ");
}

TEST(Reconciler, DrainingTakesNothingNew) {
  Reconciler reconciler(2);
  (void)reconciler.apply(answer({{"a", 1}}));
  reconciler.drain();
  EXPECT_EQ(show(reconciler.apply(answer({{"a", 1}, {"b", 1}}))), "");
  EXPECT_EQ(reconciler.running(), (std::vector<LeaseKey>{{"a", 1}}));
  EXPECT_TRUE(reconciler.ended({"a", 1}, exited(0)));
  EXPECT_FALSE(reconciler.idle()) << "the result is still to be taken";
}

// Whatever is answered and in whatever order things end: slots are never shared, a lease is started at most
// once per epoch while it lives, and nothing is reported that was withdrawn.
TEST(Reconciler, RandomAnswersKeepTheRules) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Reconciler reconciler(3);
    std::map<LeaseKey, int> live;
    for (int step = 0; step < 60; ++step) {
      std::vector<LeaseKey> run;
      std::vector<std::string> forget;
      for (const char* id : {"a", "b", "c", "d", "e"}) {
        if (random() % 2) run.push_back({id, 1 + random() % 3});
        if (random() % 5 == 0) forget.push_back(id);
      }
      const Changes changes = reconciler.apply(answer(run, forget));
      for (const auto& start : changes.start) {
        const LeaseKey key{start.lease.id(), start.lease.epoch()};
        for (const auto& [other, slot] : live) {
          EXPECT_NE(other.id, key.id);
          EXPECT_NE(slot, start.slot);
        }
        live[key] = start.slot;
      }
      for (const LeaseKey& key : changes.stop) EXPECT_TRUE(live.contains(key));
      EXPECT_LE(live.size(), 3u);
      if (!live.empty() && random() % 2) {
        (void)reconciler.ended(live.begin()->first, exited(0));
        live.erase(live.begin());
      }
      EXPECT_EQ(reconciler.freeSlots(), 3 - static_cast<int>(live.size()));
    }
  }
}

class PacerTest : public testing::Test {
 protected:
  TimePoint at(Duration since) const { return TimePoint(seconds(1000)) + since; }
  Pacer pacer_{42};
};

TEST_F(PacerTest, TheFirstCallIsDueAtOnceAndThenWhenTheCoordinatorSays) {
  EXPECT_LE(pacer_.due(), at({}));
  pacer_.called(at({}));
  EXPECT_EQ(pacer_.due(), TimePoint::max()) << "one call at a time";
  pacer_.answered(at({}), seconds(3));
  EXPECT_EQ(pacer_.due(), at(seconds(3)));
  pacer_.answered(at({}), std::chrono::hours(5));
  EXPECT_EQ(pacer_.due(), at(seconds(3)));
  pacer_.called(at(seconds(3)));
  pacer_.answered(at(seconds(3)), std::chrono::hours(5));
  EXPECT_EQ(pacer_.due(), at(seconds(63))) << "never more than a minute";
}

TEST_F(PacerTest, AResultIsReportedAtOnceAndBreaksOffAWaitingCall) {
  pacer_.called(at({}));
  EXPECT_FALSE(pacer_.interrupt(at(seconds(1))));
  pacer_.finished(at(seconds(1)));
  EXPECT_TRUE(pacer_.interrupt(at(seconds(1))));
  pacer_.called(at(seconds(1)));
  EXPECT_FALSE(pacer_.interrupt(at(seconds(1))));
}

TEST_F(PacerTest, StagesAreReportedAtMostEvery50Milliseconds) {
  pacer_.called(at({}));
  pacer_.progressed(at(milliseconds(10)));
  EXPECT_FALSE(pacer_.interrupt(at(milliseconds(10))));
  EXPECT_EQ(pacer_.due(), at(milliseconds(50)));
  EXPECT_TRUE(pacer_.interrupt(at(milliseconds(50))));
}

TEST_F(PacerTest, NoNumberOfFailuresAndNoAnswerMovesTheNextCallOutOfItsWindow) {
  TimePoint now = at({});
  for (int i = 0; i < 3000; ++i) {
    pacer_.called(now);
    pacer_.failed(now);
    ASSERT_GE(pacer_.due() - now, milliseconds(75)) << i;
    ASSERT_LE(pacer_.due() - now, seconds(3)) << i;
    if (i > 10) {
      ASSERT_GE(pacer_.due() - now, milliseconds(2250)) << i;
    }
    now = pacer_.due();
  }
  for (const auto& [said, kept] : {std::pair<Duration, Duration>{seconds(60), seconds(60)},
                                   {seconds(61), seconds(60)},
                                   {std::chrono::hours(1000), seconds(60)},
                                   {milliseconds(0), milliseconds(10)},
                                   {seconds(-5), milliseconds(10)}}) {
    pacer_.called(now);
    pacer_.answered(now, said);
    EXPECT_EQ(pacer_.due() - now, kept) << "not without a pause either";
  }
}

TEST_F(PacerTest, FailuresBackOffAndNothingHurriesThem) {
  Duration longest{};
  TimePoint now = at({});
  for (int i = 0; i < 20; ++i) {
    pacer_.called(now);
    pacer_.failed(now);
    const Duration wait = pacer_.due() - now;
    EXPECT_GE(wait, milliseconds(75));
    EXPECT_LE(wait, seconds(3));
    longest = std::max(longest, wait);
    pacer_.finished(now);
    EXPECT_EQ(pacer_.due() - now, wait);
    EXPECT_TRUE(pacer_.away());
    now = pacer_.due();
  }
  EXPECT_GE(longest, milliseconds(2250));
  pacer_.called(now);
  pacer_.answered(now, seconds(1));
  EXPECT_FALSE(pacer_.away());
  EXPECT_EQ(pacer_.due(), now + seconds(1));
}

}  // namespace
}  // namespace kiln::agent
