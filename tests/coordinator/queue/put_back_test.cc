// The coordinator's clock was ahead and has been put back: what was set meanwhile holds nothing up.
#include "tests/coordinator/queue/fleet_fixture.h"

namespace kiln::queue::testing {
namespace {

using std::chrono::hours;

class PutBack : public FleetTest {
 protected:
  PutBack() { clock_.advance(kAhead); }
  void putBack() {
    clock_.advance(-kAhead);
    EXPECT_EQ(expire(), 0u);
  }

  static constexpr hours kAhead{24 * 365};
};

TEST_F(PutBack, TheLeaseOfALostWorkerExpires) {
  insert(jobWithRuns("a", "a", 1));
  ASSERT_TRUE(acquire("w1"));
  putBack();
  clock_.advance(seconds(29));
  EXPECT_EQ(expire(), 0u) << "it has a full term";
  clock_.advance(seconds(2));
  EXPECT_EQ(expire(), 1u);
  EXPECT_EQ(runOf("a").state, RunState::kQueued);
}

TEST_F(PutBack, ALeaseHasItsTimeLimit) {
  auto job = jobWithRuns("a", "a", 1);
  job.runs[0].timeLimitSeconds = 3;
  insert(job);
  const auto run = acquire("w1");
  putBack();
  for (int i = 0; i < 6; ++i) {
    clock_.advance(seconds(20));
    EXPECT_TRUE(report(*run));
  }
  clock_.advance(seconds(4));
  EXPECT_EQ(expire(), 1u) << "by whatever clock its end was set";
}

TEST_F(PutBack, WhoFailedIsAskedAgainAfterALeaseTime) {
  call("w1");
  insert(jobWithRuns("a", "a", 1));
  const auto run = acquire("w1");
  reject(*run, true);
  putBack();
  clock_.advance(seconds(31));
  EXPECT_TRUE(acquire("w1")) << "there is nobody else";
}

TEST_F(PutBack, AWorkerThatIsGoneIsNotTakenToBeThere) {
  call("gone");
  putBack();
  call("w1");
  clock_.advance(seconds(31));
  call("w1");
  insert(jobWithRuns("a", "a", 1));
  reject(*acquire("w1"), false);
  EXPECT_EQ(runOf("a").state, RunState::kFailed) << "nobody else could take it";
}

TEST_F(PutBack, AWorkerMayCallFromAnotherPlace) {
  call("w1");
  putBack();
  clock_.advance(seconds(31));
  index::WorkerRecord elsewhere;
  elsewhere.name = "w1";
  elsewhere.operatorName = "op";
  elsewhere.peerAddress = "10.0.0.2";
  elsewhere.lastContact = clock_.now();
  EXPECT_TRUE(*connection_.transact(
      [&](Connection& c) { return index::upsertWorker(c, elsewhere, clock_.now() - seconds(30)); }));
}

TEST_F(PutBack, NobodyIsHeldBackForAYear) {
  call("w1");
  for (int i = 0; i < kFailuresBeforeBackoff; ++i)
    ASSERT_TRUE(recordOutcome(connection_, "op", "w1", LeaseOutcome::kBad, clock_.now()));
  putBack();
  EXPECT_TRUE(heldBack(connection_, clock_.now())->empty());
}

TEST_F(PutBack, WhatTheRightClockHasSetStays) {
  call("w1");
  for (int i = 0; i < kFailuresBeforeBackoff + 100; ++i)
    ASSERT_TRUE(recordOutcome(connection_, "op", "w1", LeaseOutcome::kBad, clock_.now()));
  auto job = jobWithRuns("a", "a", 1);
  insert(job);
  ASSERT_TRUE(acquire("w1"));
  const auto before = runOf("a");
  clock_.advance(-seconds(20));  // as another coordinator's, which is a little behind
  EXPECT_EQ(expire(), 0u);
  EXPECT_EQ(runOf("a").expires, before.expires);
  EXPECT_EQ(runOf("a").deadline, before.deadline);
  EXPECT_EQ(heldBack(connection_, clock_.now())->size(), 1u);
}

}  // namespace
}  // namespace kiln::queue::testing
