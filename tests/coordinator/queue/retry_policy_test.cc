// Who is asked after a run ended badly, and when nobody is any more.
#include "coordinator/queue/retry_policy.h"

#include "tests/coordinator/queue/fleet_fixture.h"

namespace kiln::queue::testing {
namespace {

using RunRetries = FleetTest;

TEST_F(RunRetries, AFinalWordIsHeldAgainstAnotherWorkersWord) {
  for (const char* name : {"w1", "w2", "w3"}) call(name);
  insert(jobWithRuns("a", "a", 1));
  reject(*acquire("w1"), false, "no model, says w1");
  EXPECT_EQ(runOf("a").state, RunState::kQueued);
  clock_.advance(seconds(31));
  EXPECT_FALSE(acquire("w1")) << "it has spoken";
  const auto second = acquire("w2");
  ASSERT_TRUE(second);
  call("w3");
  reject(*second, false, "no model, says w2");
  EXPECT_EQ(runOf("a").state, RunState::kFailed) << "two say so, though a third is there";
  EXPECT_EQ(runOf("a").errorMessage, "no model, says w2");
}

TEST_F(RunRetries, ALiarDoesNotGetAnotherShareOfTheSameAction) {
  for (const char* name : {"w1", "w2", "w3"}) call(name);
  insert(jobWithRuns("a", "a", 3));
  reject(*acquire("w1"), false);
  EXPECT_FALSE(acquire("w1"));
  insert(jobWithRuns("b", "b", 1));
  EXPECT_EQ(acquire("w1")->jobId, "b") << "of other jobs it does";
}

TEST_F(RunRetries, WhereNobodyElseCanTakeItOneWordDecides) {
  call("w1");
  call("busy elsewhere", "op", false, {"cuda:sm_90a"});
  call("leaving", "op", true);
  call("another tenant's", "op", false, {"cpu:x86-64-v3"}, {{"b"}});
  insert(jobWithRuns("a", "a", 1));
  reject(*acquire("w1"), false);
  EXPECT_EQ(runOf("a").state, RunState::kFailed);
}

TEST_F(RunRetries, AWorkerThatIsSilentIsNobodyElse) {
  call("w2");
  clock_.advance(seconds(31));
  call("w1");
  insert(jobWithRuns("a", "a", 1));
  reject(*acquire("w1"), false);
  EXPECT_EQ(runOf("a").state, RunState::kFailed);
}

TEST_F(RunRetries, AnIdleWorkersCallMayLastLongerThanAShortLease) {
  call("w2");
  clock_.advance(seconds(10));
  call("w1");
  insert(jobWithRuns("a", "a", 1));
  const auto run = acquire("w1");
  const LeaseQueue quick(clock_, Settings{.lease = seconds(1)});
  ASSERT_TRUE(*connection_.transact([&](Connection& c) {
    return quick.reject(c, {run->id, run->epoch, {"w1", "op", {}}}, {Code::kInvalidArgument, "no model", {}},
                        false);
  }));
  EXPECT_EQ(runOf("a").state, RunState::kQueued) << "w2 is there";
}

// Whoever was there within a day may only not have called yet.
TEST_F(RunRetries, AfterAStartThereMayBeSomebodyElse) {
  call("w2");
  clock_.advance(std::chrono::hours(1));
  call("w1");
  insert(jobWithRuns("a", "a", 1));
  reject(*acquire("w1"), false, "no model", false);
  EXPECT_EQ(runOf("a").state, RunState::kQueued);
  EXPECT_EQ(failAbandoned(false), 0u);
  EXPECT_EQ(failAbandoned(), 1u);
  EXPECT_EQ(runOf("a").state, RunState::kFailed);
  EXPECT_EQ(runOf("a").errorMessage, "no model");
}

TEST_F(RunRetries, TheAttemptsOfOneWorkerAloneEndNothingWhileAnotherIsThere) {
  insert(jobWithRuns("a", "a", 1));
  for (int i = 0; i < 3; ++i) {
    call("w1");
    call("w2");  // has something else to do
    const auto run = acquire("w1");
    ASSERT_TRUE(run) << i;
    reject(*run, true, "disk full");
    clock_.advance(seconds(31));
  }
  EXPECT_EQ(runOf("a").state, RunState::kQueued);
  EXPECT_FALSE(acquire("w1")) << "three times is enough";
  call("w2");
  EXPECT_EQ(failAbandoned(), 0u);
  const auto other = acquire("w2");
  ASSERT_TRUE(other);
  call("w3");  // is not asked any more
  reject(*other, true, "disk full here too");
  EXPECT_EQ(runOf("a").state, RunState::kFailed);
  EXPECT_EQ(runOf("a").errorMessage, "disk full here too");
}

// A lost lease says nothing against the run, so it waits for whoever comes.
TEST_F(RunRetries, WhatWasLostWaitsThoughNobodyIsThere) {
  call("w1");
  insert(jobWithRuns("a", "a", 1));
  ASSERT_TRUE(acquire("w1"));
  clock_.advance(seconds(31));
  EXPECT_EQ(expire(), 1u);
  EXPECT_EQ(runOf("a").state, RunState::kQueued);
}

TEST_F(RunRetries, WhoWaitsForAWorkerThatGoesAwayFailsThen) {
  call("w1");
  call("w2");
  insert(jobWithRuns("a", "a", 1));
  insert(jobWithRuns("untried", "b", 1));
  reject(*acquire("w1"), false);
  EXPECT_EQ(failAbandoned(), 0u);
  clock_.advance(seconds(31));
  EXPECT_EQ(failAbandoned(), 1u);
  EXPECT_EQ(runOf("a").state, RunState::kFailed);
  EXPECT_EQ(runOf("untried").state, RunState::kQueued) << "nobody has said anything against it";
}

TEST_F(RunRetries, WhereOnlyOneWorkerIsKnownNobodyWaitsAfterAStart) {
  call("left long ago");
  clock_.advance(std::chrono::hours(25));
  call("w1");
  insert(jobWithRuns("a", "a", 1));
  reject(*acquire("w1"), false, "no model", false);
  EXPECT_EQ(runOf("a").state, RunState::kFailed);
}

// Others took the share that it spoke about: the one that is left may be tried by nobody and was by nobody.
TEST_F(RunRetries, ALastWordStandsForTheShareThatNobodyElseCanTake) {
  for (const char* name : {"liar", "w2", "w3"}) call(name);
  insert(jobWithRuns("a", "a", 3));
  reject(*acquire("liar"), false, "no model, says the liar");
  const auto second = acquire("w2"), third = acquire("w3");
  ASSERT_TRUE(second && third);
  EXPECT_FALSE(acquire("liar"));
  EXPECT_EQ(failAbandoned(), 1u);
  int failed = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const RunRecord run = runOf("a", i);
    if (run.state != RunState::kFailed) continue;
    ++failed;
    EXPECT_EQ(run.worker, "liar");
    EXPECT_EQ(run.operatorName, "op");
    EXPECT_EQ(run.errorCode, static_cast<int>(Code::kInvalidArgument));
    EXPECT_EQ(run.errorMessage, "no model, says the liar");
  }
  EXPECT_EQ(failed, 1);
}

// An honest worker of the wrong operator is no help.
TEST_F(RunRetries, WhoMayNotTakeItForItsOperatorIsNobodyElse) {
  call("a1", "acme");
  call("a2", "acme");
  call("b1", "other");
  auto job = jobWithRuns("a", "a", 2);
  for (auto& run : job.runs) run.operatorsWanted = 2;
  insert(job);
  const auto first = acquire("a1", "acme");
  ASSERT_TRUE(first);
  const auto second = acquire("b1", "other");
  ASSERT_TRUE(second);
  reject(*second, false);
  EXPECT_EQ(runOf("a", 1).state, RunState::kFailed) << "a2 would make it two builders of one operator";
}

}  // namespace
}  // namespace kiln::queue::testing
