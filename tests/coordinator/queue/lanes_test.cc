// That what a lease costs does not depend on what is queued, counted in rows that PostgreSQL reads.
#include "coordinator/queue/lanes.h"

#include "tests/coordinator/queue/fleet_fixture.h"

namespace kiln::queue {
namespace {

using namespace testing;

LaneFilter all() {
  return {.kinds = {3},
          .targets = {"cpu:x86-64-v3"},
          .runsOn = {},
          .emulatedOn = {},
          .instances = {},
          .warmToolchains = {},
          .quotas = {},
          .warmAdvantage = {}};
}

class Lanes : public FleetTest {
 protected:
  // So many runs more, each of a job of its own, all of one lane; of 13 different lengths.
  void queue(int runs, const std::string& instance = "default", int priority = 0,
             const std::string& target = "cpu:x86-64-v3", TimePoint queued = kStart) {
    for (int i = 0; i < runs; ++i) {
      const std::string name = instance + std::to_string(next_++);
      index::JobSnapshot job = jobWithRuns(name, name, 1, instance, queued + std::chrono::microseconds(i));
      job.runs[0].priority = priority;
      job.runs[0].target = target;
      job.runs[0].expectedSeconds = 13 - i % 13;
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
  std::int64_t rowsOfALease(const std::string& worker = "w1") {
    return rowsRead([&](Connection& c) -> Status {
      const Claim claim{{worker, "op", {}}, {"cpu:x86-64-v3"}, {}, {index::ActionKind::kCompile}, {}};
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

LaneFilter under(const std::string& quotas) {
  LaneFilter filter = all();
  filter.quotas = std::make_shared<quota::QuotaRules>(
      quota::QuotaRules::parse(R"({"apiVersion": "kiln/v1", "kind": "Quotas", )" + quotas + "}").value());
  return filter;
}

TEST_F(Lanes, WhatRunsIsWeighed) {
  queue(4, "a");
  queue(4, "b", 0, "cpu:x86-64-v3", kStart + seconds(20));
  ASSERT_TRUE(connection_.execute("UPDATE runs SET state = 1 WHERE id IN ('a0-r0', 'a1-r0', 'b4-r0')"));
  const std::vector<std::string> a{"0 a cpu:x86-64-v3", "0 b cpu:x86-64-v3"}, b{a[1], a[0]};
  EXPECT_EQ(lanes(), b) << "one of b runs, two of a";
  EXPECT_EQ(lanes(under(R"("instances": {"a": {"weight": 2}})")), a) << "alike now, and a is older";
  EXPECT_EQ(lanes(under(R"("default": {"weight": 3}, "instances": {"a": {"weight": 2}})")), b);
}

TEST_F(Lanes, AnInstanceThatRunsAsMuchAsItMayHasNoLane) {
  queue(3, "a");
  queue(3, "b");
  ASSERT_TRUE(connection_.execute("UPDATE runs SET state = 1 WHERE id IN ('a0-r0', 'b3-r0')"));
  const std::vector<std::string> a{"0 a cpu:x86-64-v3"}, b{"0 b cpu:x86-64-v3"};
  EXPECT_EQ(lanes(under(R"("instances": {"a": {"running": 1}})")), b);
  EXPECT_EQ(lanes(under(R"("default": {"running": 1}, "instances": {"a": {"running": 2}})")), a);
  EXPECT_TRUE(lanes(under(R"("default": {"running": 0})")).empty());
}

class LongestFirst : public FleetTest {
 protected:
  void queueOne(const std::string& name, double expected, TimePoint queued = kStart, int priority = 0) {
    index::JobSnapshot job = jobWithRuns(name, name, 1, "default", queued);
    job.runs[0].expectedSeconds = expected;
    job.runs[0].priority = priority;
    insert(job);
  }
  std::string order() {
    std::string out;
    for (const char* worker : {"w1", "w2", "w3", "w4", "w5"})
      if (const auto run = acquire(worker)) out += (out.empty() ? "" : " ") + run->jobId;
    return out;
  }
};

TEST_F(LongestFirst, OfThoseQueuedTogether) {
  queueOne("short", 5);
  queueOne("long", 600);
  queueOne("middle", 60);
  EXPECT_EQ(order(), "long middle short");
}

TEST_F(LongestFirst, EqualOnesInTheOrderOfTheQueue) {
  queueOne("third", 60, kStart + seconds(2));
  queueOne("first", 60);
  queueOne("second", 60, kStart + seconds(1));
  EXPECT_EQ(order(), "first second third");
}

TEST_F(LongestFirst, PriorityGoesBefore) {
  queueOne("long", 600);
  queueOne("urgent", 1, kStart, 1);
  EXPECT_EQ(order(), "urgent long");
}

TEST_F(LongestFirst, NoneWaitsForEverBehindLongerOnesThatComeLater) {
  queueOne("short", 5);
  queueOne("longer", 65, kStart + seconds(59));
  queueOne("late", 65, kStart + seconds(61));
  EXPECT_EQ(order(), "longer short late");
}

// As a coordinator of the release before queues it.
TEST_F(LongestFirst, ARunWithoutExpectationHasARank) {
  queueOne("new", 0, kStart + seconds(1));
  ASSERT_TRUE(connection_.execute(
      "INSERT INTO runs (instance, id, job_id, action_hash, action_size, kind, target, toolchain_hash, "
      "priority, operators_wanted, time_limit, state, queued) SELECT instance, 'old', job_id, "
      "action_hash, action_size, kind, target, toolchain_hash, priority, operators_wanted, time_limit, "
      "state, "
      "queued - interval '1 second' FROM runs"));
  EXPECT_EQ(acquire("w1")->id, "old");
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

// Runs of many lanes came in turns, so that those of one lie apart in the table: PostgreSQL would read them
// all at once rather than in the order of the index.
TEST_F(Lanes, ALeaseReadsTheFrontOfALaneWhoseRunsLieApart) {
  constexpr int kInstances = 20, kRuns = 75;
  const auto queueOneEach = [&] {
    for (int i = 0; i < kInstances; ++i) queue(1, "i" + std::to_string(i));
  };
  queueOneEach();
  const std::int64_t few = rowsOfALease();
  for (int i = 1; i < kRuns; ++i) queueOneEach();
  ASSERT_TRUE(connection_.execute("ANALYZE"));
  for (int plans = 0; plans < 8; ++plans) EXPECT_LE(rowsOfALease("w" + std::to_string(plans)), few + 20);
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
  queue(1, "default", 0, "cpu:x86-64-v3", kStart + seconds(20));
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

class EqualActions : public FleetTest {
 protected:
  // Of three workers, whose of these jobs each gets, in turns; "-" for nothing.
  std::string leased(std::initializer_list<const char*> workers) {
    std::string out;
    for (const char* worker : workers) {
      auto run = acquire(worker);
      out += (out.empty() ? "" : " ") + (run ? run->jobId : "-");
      if (run) runs_.push_back(std::move(*run));
    }
    return out;
  }
  std::vector<RunRecord> runs_;
};

TEST_F(EqualActions, RunOnceForAllThatWait) {
  insert(jobWithRuns("j1", "same", 1));
  insert(jobWithRuns("j2", "same", 1));
  insert(jobWithRuns("j3", "other", 1));
  EXPECT_EQ(leased({"w1", "w2", "w3"}), "j1 j3 -");
  EXPECT_EQ(*queue_.jobsWaitingFor(connection_, runs_[0]), (std::vector<index::JobKey>{{"default", "j2"}}));
  EXPECT_TRUE(queue_.jobsWaitingFor(connection_, runs_[1])->empty());
}

TEST_F(EqualActions, AJobHasTimeToCountAResultBeforeItRunsItself) {
  insert(jobWithRuns("j1", "same", 1));
  insert(jobWithRuns("j2", "same", 1));
  ASSERT_EQ(leased({"w1"}), "j1");
  ASSERT_TRUE(complete(runs_[0]));
  EXPECT_EQ(leased({"w2"}), "-");
  clock_.advance(seconds(5));
  EXPECT_EQ(leased({"w2"}), "j2") << "the result did not count for it";
}

TEST_F(EqualActions, AClockThatIsPutBackHoldsNothingUp) {
  insert(jobWithRuns("j1", "same", 1));
  insert(jobWithRuns("j2", "same", 1));
  clock_.advance(std::chrono::hours(1));
  ASSERT_EQ(leased({"w1"}), "j1");
  ASSERT_TRUE(complete(runs_[0]));
  clock_.advance(-std::chrono::hours(1));
  ASSERT_EQ(leased({"w2"}), "-");
  expire();
  EXPECT_EQ(leased({"w2"}), "j2");
}

TEST_F(EqualActions, RunForOthersOnceTheFirstFails) {
  insert(jobWithRuns("j1", "same", 1));
  insert(jobWithRuns("j2", "same", 1));
  ASSERT_EQ(leased({"w1", "w2"}), "j1 -");
  clock_.advance(seconds(31));
  ASSERT_EQ(expire(), 1u);
  EXPECT_EQ(leased({"w2", "w3"}), "j1 -") << "again by another worker, and still once";
  ASSERT_TRUE(connection_.execute("UPDATE runs SET state = 4 WHERE job_id = 'j1'"));
  EXPECT_EQ(leased({"w3"}), "j2") << "a job that is cancelled runs for nobody else";
}

TEST_F(EqualActions, RunAsOftenAsTheJobWithTheMostBuildersWants) {
  insert(jobWithRuns("j1", "same", 1));
  insert(jobWithRuns("j2", "same", 2));
  EXPECT_EQ(leased({"w1", "w2", "w3"}), "j1 j2 -") << "with what w1 leaves, j2 wants one more";
}

TEST_F(EqualActions, OfJobsThatTakeNoResultsOfOthersEachRun) {
  insert(jobWithRuns("j1", "same", 1));
  auto fresh = jobWithRuns("j2", "same", 1);
  fresh.job.reuse = false;
  insert(fresh);
  EXPECT_EQ(leased({"w1", "w2"}), "j1 j2");
}

TEST_F(EqualActions, OfTwoInstancesAreNotShared) {
  insert(jobWithRuns("j1", "same", 1, "a"));
  insert(jobWithRuns("j2", "same", 1, "b"));
  EXPECT_EQ(leased({"w1", "w2"}), "j1 j2");
}

TEST_F(EqualActions, ARunWhoseEvidenceIsCountedAlreadyIsNoneToWaitFor) {
  insert(jobWithRuns("j1", "same", 1));
  auto confirms = jobWithRuns("j2", "same", 1);
  confirms.runs[0].excludedWorkers = {"op/w1"};
  insert(confirms);
  EXPECT_EQ(leased({"w1", "w2"}), "j1 j2");
}

}  // namespace
}  // namespace kiln::queue
