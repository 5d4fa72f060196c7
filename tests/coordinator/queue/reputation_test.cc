// What a worker gets: within its limits, and for what became of its leases before.
#include "coordinator/queue/reputation.h"

#include "tests/coordinator/queue/fleet_fixture.h"

namespace kiln::queue::testing {
namespace {

using std::chrono::minutes;

class ReputationTest : public FleetTest {
 protected:
  Reputation reputation(const std::string& worker) {
    return *reputationOf(connection_, "op", worker, clock_.now());
  }
  void ends(const std::string& worker, LeaseOutcome outcome, int times = 1) {
    for (int i = 0; i < times; ++i)
      EXPECT_TRUE(recordOutcome(connection_, "op", worker, outcome, clock_.now()));
  }
  // A job of one run, the oldest of which is not new any more.
  void insertOld(const std::string& name) {
    insert(jobWithRuns(name, name, 1, "default", kStart - minutes(1)));
  }
};

TEST_F(ReputationTest, ReportsDoNotKeepALeaseBeyondItsTimeLimit) {
  call("w1");
  call("w2");
  auto job = jobWithRuns("a", "a", 1);
  job.runs[0].timeLimitSeconds = 3;
  insert(job);
  const auto run = acquire("w1");
  ASSERT_TRUE(run);
  for (int i = 0; i < 12; ++i) {
    clock_.advance(seconds(10));
    call("w2");
    EXPECT_EQ(expire(), 0u) << "two minutes beside the limit are for bringing inputs in and results out";
    EXPECT_TRUE(report(*run));
  }
  clock_.advance(seconds(4));
  EXPECT_EQ(expire(), 1u) << "123 seconds are over, whatever it reports";
  EXPECT_FALSE(report(*run));
  EXPECT_EQ(runOf("a").state, RunState::kQueued);
  EXPECT_NE(runOf("a").errorMessage.find("time limit of 3 s"), std::string::npos) << runOf("a").errorMessage;
  EXPECT_FALSE(acquire("w1")) << "it has had its time";
  EXPECT_TRUE(acquire("w2"));
}

TEST_F(ReputationTest, WhoAloneLetsTheLimitPassEndsTheRun) {
  call("w1");
  insert(jobWithRuns("a", "a", 1));
  const auto run = acquire("w1");
  for (int i = 0; i < 3722 / 20; ++i) {
    clock_.advance(seconds(20));
    call("w1");
    EXPECT_TRUE(report(*run));
  }
  clock_.advance(seconds(20));
  EXPECT_EQ(expire(), 1u);
  EXPECT_EQ(runOf("a").state, RunState::kFailed);
  EXPECT_EQ(runOf("a").errorCode, static_cast<int>(Code::kDeadlineExceeded));
}

TEST_F(ReputationTest, AResultThatComesAtTheEndIsLookedAt) {
  auto job = jobWithRuns("a", "a", 1);
  job.runs[0].timeLimitSeconds = 3;
  insert(job);
  const auto run = acquire("w1");
  for (int i = 0; i < 6; ++i) {
    clock_.advance(seconds(20));
    EXPECT_TRUE(report(*run));
  }
  const LeaseKey key{run->id, run->epoch, {run->worker, run->operatorName, {}}};
  EXPECT_TRUE(*queue_.keepForResult(connection_, key));
  clock_.advance(seconds(29));
  EXPECT_EQ(expire(), 0u);
  EXPECT_TRUE(*queue_.keepForResult(connection_, key));
  clock_.advance(seconds(5));
  EXPECT_EQ(expire(), 1u) << "looking has an end too";
  EXPECT_FALSE(complete(*run));
}

TEST_F(ReputationTest, ATimeWithoutADatabaseIsNobodysFault) {
  auto job = jobWithRuns("a", "a", 1);
  job.runs[0].timeLimitSeconds = 3;
  insert(job);
  const auto run = acquire("w1");
  clock_.advance(minutes(10));
  ASSERT_TRUE(queue_.extendAll(connection_));
  EXPECT_EQ(expire(), 0u);
  clock_.advance(seconds(29));
  EXPECT_TRUE(report(*run));
  EXPECT_TRUE(complete(*run));
}

TEST_F(ReputationTest, AStrangerGetsFewAndMoreWithEachGoodEnd) {
  call("w1");
  for (int i = 0; i < 12; ++i) insertOld("job" + std::to_string(i));
  std::vector<RunRecord> runs;
  while (const auto run = acquire("w1")) runs.push_back(*run);
  EXPECT_EQ(runs.size(), 4u);
  EXPECT_TRUE(complete(runs.back()));
  EXPECT_TRUE(acquire("w1"));
  EXPECT_TRUE(acquire("w1"));
  EXPECT_FALSE(acquire("w1")) << "five at a time";
}

TEST_F(ReputationTest, EachBadEndHalvesWhatWasProven) {
  call("w1");
  ends("w1", LeaseOutcome::kGood, 40);
  EXPECT_EQ(reputation("w1").slots, 44);
  ends("w1", LeaseOutcome::kBad);
  EXPECT_EQ(reputation("w1").slots, 24);
  EXPECT_FALSE(reputation("w1").heldBack);
  ends("w1", LeaseOutcome::kGood, 1000);
  EXPECT_EQ(reputation("w1").slots, kMaxSlots);
  ends("w1", LeaseOutcome::kBad);
  EXPECT_EQ(reputation("w1").slots, 4 + kMaxSlots / 2) << "more than the most is not kept in store";
  EXPECT_EQ(reputation("never called").slots, 4);
}

TEST_F(ReputationTest, AfterThreeBadEndsInARowOthersComeFirst) {
  call("w1");
  call("w2");
  ends("w1", LeaseOutcome::kBad, 2);
  ends("w1", LeaseOutcome::kGood);
  ends("w1", LeaseOutcome::kBad, 2);
  EXPECT_FALSE(reputation("w1").heldBack) << "not in a row";
  ends("w1", LeaseOutcome::kBad);
  EXPECT_TRUE(reputation("w1").heldBack);
  EXPECT_EQ(heldBack(connection_, clock_.now())->size(), 1u);
  insertOld("a");
  EXPECT_FALSE(acquire("w1"));
  EXPECT_TRUE(acquire("w2"));
  insert(jobWithRuns("b", "b", 1, "default", kStart - minutes(1)));
  EXPECT_TRUE(acquire("w1")) << "w2 has no slot free";
}

TEST_F(ReputationTest, WhoIsGoneOrTakesNothingKeepsNoWorkFromOthers) {
  call("w1");
  call("w2");
  ends("w1", LeaseOutcome::kBad, 3);
  insertOld("a");
  EXPECT_FALSE(acquire("w1"));
  clock_.advance(seconds(31));
  EXPECT_TRUE(acquire("w1")) << "there is nobody else any more";
  ends("w1", LeaseOutcome::kBad, 10);
  call("w2");
  insert(jobWithRuns("b", "b", 1, "default", clock_.now()));
  ASSERT_TRUE(connection_.execute("UPDATE fleet SET slots = 0 WHERE name = 'w2'"));
  EXPECT_TRUE(acquire("w1")) << "w2 says itself that it takes nothing";
  ASSERT_TRUE(connection_.execute("UPDATE fleet SET slots = 9"));
  insert(jobWithRuns("c", "c", 1, "default", clock_.now()));
  EXPECT_FALSE(acquire("w1"));
  for (int i = 0; i < 10; ++i) {
    clock_.advance(seconds(30));
    call("w2");
    ASSERT_TRUE(connection_.execute("UPDATE fleet SET slots = 9"));
  }
  EXPECT_TRUE(acquire("w1")) << "w2 could have taken it, and has not for five minutes";
}

TEST_F(ReputationTest, ATimeLimitThatIsOverIsHeldAgainstNobody) {
  call("w1");
  call("w2");
  const auto badEnds = [&] {
    return (*connection_.execute("SELECT bad_ends FROM fleet WHERE name = 'w1'"))[0].get<int>("bad_ends");
  };
  const auto timesOut = [&](const char* job, Duration after) {
    auto limited = jobWithRuns(job, job, 1, "default", kStart - minutes(1));
    limited.runs[0].timeLimitSeconds = 20;
    insert(limited);
    const auto run = acquire("w1");
    ASSERT_TRUE(run);
    clock_.advance(after);
    ASSERT_TRUE(*connection_.transact([&](Connection& c) {
      return queue_.reject(c, {run->id, run->epoch, {"w1", "op", {}}},
                           {Code::kDeadlineExceeded, "time limit: still running after 20 s", {}}, false);
    }));
  };
  timesOut("a", seconds(20));
  EXPECT_EQ(badEnds(), 0);
  timesOut("b", seconds(19));
  EXPECT_EQ(badEnds(), 1) << "it says so before the time was over";
}

// What a submitter gave is wrong on every worker, and none of them is to be blamed for saying so.
TEST_F(ReputationTest, ALastWordCountsOnceAnotherWorkerContradictsIt) {
  call("w1");
  call("w2");
  const auto badEnds = [&](const std::string& worker) {
    auto rows = connection_.execute("SELECT bad_ends FROM fleet WHERE name = $1", {worker});
    return (*rows)[0].get<int>("bad_ends");
  };
  insert(jobWithRuns("wrong", "wrong", 1));
  reject(*acquire("w1"), false);
  EXPECT_EQ(badEnds("w1"), 0) << "nobody else has tried it";
  reject(*acquire("w2"), false);
  EXPECT_EQ(badEnds("w1"), 0) << "they agree";
  EXPECT_EQ(badEnds("w2"), 0);
  insert(jobWithRuns("right", "right", 1));
  reject(*acquire("w1"), false);
  ASSERT_TRUE(complete(*acquire("w2")));
  EXPECT_EQ(badEnds("w1"), 1) << "it said that nobody could";
  EXPECT_EQ(badEnds("w2"), 0);
}

// A client may have its action leave a pipe where it likes, and a file where it likes.
TEST_F(ReputationTest, WhatAClientsActionLeavesIsHeldAgainstNobody) {
  call("w1");
  call("w2");
  const auto take = [&](const std::string& worker) {
    const Claim claim{{worker, "op", {}}, {"cpu:x86-64-v3"}, {}, {index::ActionKind::kExecute}, {}};
    return connection_.transact([&](Connection& c) { return queue_.acquire(c, claim); }).value();
  };
  ASSERT_TRUE(connection_.execute("UPDATE fleet SET kinds = kinds || $1::integer",
                                  {static_cast<int>(index::ActionKind::kExecute)}));
  for (int i = 0; i < 5; ++i) {
    auto job = jobWithRuns("job" + std::to_string(i), "action" + std::to_string(i), 1);
    job.runs[0].kind = index::ActionKind::kExecute;
    insert(job);
    const auto first = take("w1");
    ASSERT_TRUE(first);
    reject(*first, false, "output o is a FIFO");
    const auto second = take("w2");
    ASSERT_TRUE(second);
    if (i < 3)
      reject(*second, false, "output o is a FIFO");
    else
      ASSERT_TRUE(complete(*second)) << "this time it left a file";
  }
  const auto rows = connection_.execute("SELECT FROM fleet WHERE bad_ends > 0");
  EXPECT_TRUE(rows->empty());
}

TEST_F(ReputationTest, WhoIsHeldBackIsSoForTwiceAsLongEachTime) {
  call("w1");
  ends("w1", LeaseOutcome::kBad, 3);
  clock_.advance(seconds(60));
  EXPECT_FALSE(reputation("w1").heldBack);
  ends("w1", LeaseOutcome::kBad);
  clock_.advance(seconds(119));
  EXPECT_TRUE(reputation("w1").heldBack);
  clock_.advance(seconds(1));
  EXPECT_FALSE(reputation("w1").heldBack);
  ends("w1", LeaseOutcome::kBad, 1000);
  clock_.advance(minutes(64));
  EXPECT_FALSE(reputation("w1").heldBack) << "an hour, about, is the most";
}

TEST_F(ReputationTest, WhatEndsBadlyIsCounted) {
  call("w1");
  const auto badEnds = [&] {
    auto rows = connection_.execute("SELECT bad_ends FROM fleet");
    return (*rows)[0].get<int>("bad_ends");
  };
  insertOld("silent");
  ASSERT_TRUE(acquire("w1"));
  clock_.advance(seconds(31));
  call("w1");
  EXPECT_EQ(expire(), 1u);
  EXPECT_EQ(badEnds(), 1);
  const auto again = acquire("w1");
  ASSERT_TRUE(again);
  reject(*again, true);
  EXPECT_EQ(badEnds(), 2);
  clock_.advance(seconds(31));
  call("w1");
  const auto unlucky = acquire("w1");
  ASSERT_TRUE(unlucky);
  ASSERT_TRUE(*connection_.transact([&](Connection& c) {
    return queue_.reject(c, {unlucky->id, unlucky->epoch, {"w1", "op", {}}},
                         {Code::kUnavailable, "the store is away", {}}, true);
  }));
  EXPECT_EQ(badEnds(), 2) << "that does not count against the worker";
}

TEST_F(ReputationTest, NobodyGetsAllOfAQueueWhileAnotherIsIdle) {
  call("w1");
  call("w2");
  for (int i = 0; i < 6; ++i) insert(jobWithRuns("job" + std::to_string(i), "job" + std::to_string(i), 1));
  ASSERT_TRUE(acquire("w1"));
  EXPECT_FALSE(acquire("w1")) << "w2 is idle";
  ASSERT_TRUE(acquire("w2"));
  EXPECT_TRUE(acquire("w1"));
  EXPECT_TRUE(acquire("w2"));
}

TEST_F(ReputationTest, WhoDoesNotComeForItIsNotWaitedForLong) {
  call("w1");
  call("w2");
  call("cannot", "op", false, {"cuda:sm_90a"});
  insert(jobWithRuns("a", "a", 1));
  insert(jobWithRuns("b", "b", 1));
  ASSERT_TRUE(acquire("w1"));
  EXPECT_FALSE(acquire("w1"));
  clock_.advance(seconds(2));
  EXPECT_TRUE(acquire("w1"));
}

}  // namespace
}  // namespace kiln::queue::testing
