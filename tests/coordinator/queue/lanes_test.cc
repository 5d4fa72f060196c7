// That what a lease costs does not depend on what is queued, counted in rows that PostgreSQL reads.
#include "coordinator/queue/lanes.h"

#include "tests/coordinator/queue/fleet_fixture.h"

namespace kiln::queue {
namespace {

using namespace testing;

class Lanes : public FleetTest {
 protected:
  // So many runs more, each of a job of its own, all of one lane.
  void queue(int runs, const std::string& instance = "default", int priority = 0,
             const std::string& target = "cpu:x86-64-v3", TimePoint queued = kStart) {
    for (int i = 0; i < runs; ++i) {
      const std::string name = instance + std::to_string(next_++);
      index::JobSnapshot job = jobWithRuns(name, name, 1, instance, queued + std::chrono::microseconds(i));
      job.runs[0].priority = priority;
      job.runs[0].target = target;
      insert(job);
    }
  }
  std::vector<std::string> lanes(LaneFilter filter = all()) {
    const auto found = lanesFor(connection_, filter);
    EXPECT_TRUE(found) << found.error().message;
    std::vector<std::string> out;
    for (const Lane& lane : *found)
      out.push_back(std::to_string(lane.priority) + " " + lane.instance + " " + lane.target);
    return out;
  }
  static LaneFilter all() {
    return {.kinds = {3},
            .targets = {"cpu:x86-64-v3"},
            .runsOn = {},
            .emulatedOn = {},
            .instances = {},
            .warmToolchains = {},
            .warmAdvantage = {}};
  }
  // Rows of `runs` that this connection reads in a transaction with `body`.
  template <class Body>
  std::int64_t rowsRead(Body body) {
    std::int64_t rows = 0;
    const Status done = connection_.transact([&](Connection& c) -> Status {
      const auto count = [&]() -> Result<std::int64_t> {
        KILN_ASSIGN(auto found,
                    c.execute("SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) AS rows FROM "
                              "pg_stat_xact_user_tables WHERE relname = 'runs'"));
        KILN_ASSIGN(auto first,
                    found.first([](const postgres::Row& row) { return row.get<std::int64_t>("rows"); }));
        return first.value_or(0);
      };
      KILN_ASSIGN(const std::int64_t before, count());
      KILN_TRY(body(c));
      KILN_ASSIGN(const std::int64_t after, count());
      rows = after - before;
      return {};
    });
    EXPECT_TRUE(done) << done.error().message;
    return rows;
  }
  std::int64_t rowsOfALease() {
    return rowsRead([&](Connection& c) -> Status {
      const Claim claim{{"w1", "op", {}}, {"cpu:x86-64-v3"}, {}, {index::ActionKind::kCompile}, {}};
      KILN_ASSIGN(auto run, queue_.acquire(c, claim));
      EXPECT_TRUE(run);
      return {};
    });
  }

  int next_ = 0;
};

TEST_F(Lanes, ALaneIsListedOnceHoweverLongItIs) {
  queue(5, "a");
  queue(3, "b");
  queue(2, "a", 7);
  queue(2, "a", 0, "cpu:aarch64");
  EXPECT_EQ(lanes(),
            (std::vector<std::string>{"7 a cpu:x86-64-v3", "0 a cpu:x86-64-v3", "0 b cpu:x86-64-v3"}));
}

TEST_F(Lanes, TheInstanceThatRunsLessGoesFirstThenTheOlderLane) {
  queue(2, "b");
  queue(2, "c", 0, "cpu:x86-64-v3", kStart - seconds(1));
  queue(2, "a", 0, "cpu:x86-64-v3", kStart + seconds(1));
  EXPECT_EQ(lanes(),
            (std::vector<std::string>{"0 c cpu:x86-64-v3", "0 b cpu:x86-64-v3", "0 a cpu:x86-64-v3"}));
  EXPECT_EQ(acquire("w1")->instance, "c");
  EXPECT_EQ(lanes(),
            (std::vector<std::string>{"0 b cpu:x86-64-v3", "0 a cpu:x86-64-v3", "0 c cpu:x86-64-v3"}));
}

TEST_F(Lanes, OfALaneTheOldestGoesFirstPastThoseThatOthersHold) {
  queue(3);
  const Lane lane = lanesFor(connection_, all())->at(0);
  const Taker taker{.worker = "w1", .operatorName = "op", .now = kStart, .liveSince = kStart, .newSince = {}};
  Connection other = *Connection::open(options_);
  const Status done = connection_.transact([&](Connection& c) -> Status {
    KILN_ASSIGN(auto first, lockNext(c, lane, taker));
    EXPECT_EQ(first->jobId, "default0");
    return other.transact([&](Connection& o) -> Status {
      KILN_ASSIGN(auto second, lockNext(o, lane, taker));
      EXPECT_EQ(second->jobId, "default1");
      return {};
    });
  });
  EXPECT_TRUE(done) << done.error().message;
}

TEST_F(Lanes, ALeaseReadsAsManyRowsWithManyRunsAsWithFew) {
  queue(20);
  const std::int64_t few = rowsOfALease();
  queue(1500);
  const std::int64_t many = rowsOfALease();
  EXPECT_LE(many, few + 10);
  ASSERT_TRUE(connection_.execute("ANALYZE"));
  EXPECT_LE(rowsOfALease(), few + 10) << "once PostgreSQL knows how many there are";
}

TEST_F(Lanes, WhatIsSweptReadsNoneOfTheRunsThatNobodyContests) {
  queue(1500);
  const auto sweep = [&](Connection& c) -> Status {
    KILN_TRY(queue_.expire(c));
    KILN_TRY(queue_.failAbandoned(c));
    return {};
  };
  EXPECT_LE(rowsRead(sweep), 10);
  ASSERT_TRUE(connection_.execute("ANALYZE"));
  EXPECT_LE(rowsRead(sweep), 10);
}

// By the triggers, so that a coordinator of the release before keeps it as well.
TEST_F(Lanes, AQueuedRunIsContestedOnceALeaseOfItsActionEndsBadly) {
  call("w1"), call("w2");
  insert(jobWithRuns("j", "a", 2));
  queue(1);
  const auto contested = [&] {
    auto rows =
        *connection_.execute("SELECT string_agg(id, ' ' ORDER BY id) AS ids FROM runs WHERE contested");
    return (*rows.first([](const postgres::Row& row) {
             return row.get<std::optional<std::string>>("ids").value_or("");
           }))
        .value();
  };
  const auto run = acquire("w1");
  ASSERT_TRUE(run);
  ASSERT_EQ(run->jobId, "j");
  EXPECT_EQ(contested(), "");
  reject(*run, false);
  EXPECT_EQ(contested(), "j-r0 j-r1");
  index::JobSnapshot third = jobWithRuns("j", "a", 3);
  third.runs.erase(third.runs.begin(), third.runs.begin() + 2);
  ASSERT_TRUE(connection_.transact([&](Connection& c) { return index::addRuns(c, third.runs); }));
  EXPECT_EQ(contested(), "j-r0 j-r1 j-r2") << "one that is queued after that as well";
}

}  // namespace
}  // namespace kiln::queue
