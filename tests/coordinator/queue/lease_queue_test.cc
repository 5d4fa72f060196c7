#include "coordinator/queue/lease_queue.h"

#include <set>
#include <thread>

#include "storage/index/fleet/worker_repository.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/jobs/result_repository.h"
#include "tests/storage/index/index_fixture.h"
#include "tests/support/manual_clock.h"

namespace kiln::queue {
namespace {

using namespace index::testing;
using index::RunState;
using postgres::Connection;
using std::chrono::seconds;

class LeaseQueueTest : public ::testing::Test {
 protected:
  LeaseQueueTest() : connection_(std::move(*Connection::open(options_))) {}

  Claim claim(const std::string& worker, const std::string& operatorName = "op") {
    return {{worker, operatorName, keyOfWorker(operatorName)},
            {"cpu:x86-64-v3"},
            {},
            {index::ActionKind::kReference, index::ActionKind::kCompile},
            {}};
  }
  std::optional<index::RunRecord> acquire(const Claim& who) {
    auto run = connection_.transact([&](Connection& c) { return queue_.acquire(c, who); });
    EXPECT_TRUE(run) << run.error().message;
    return run ? *run : std::nullopt;
  }
  void insert(const index::JobSnapshot& job) {
    auto status = connection_.transact([&](Connection& c) { return index::insertJob(c, job); });
    ASSERT_TRUE(status) << status.error().message;
  }
  index::JobSnapshot load(const std::string& id) {
    auto job = index::loadJob(connection_, {"default", id}, index::Evidence::kWith);
    EXPECT_TRUE(job) << job.error().message;
    return job && *job ? **job : index::JobSnapshot{};
  }
  static Digest keyOfWorker(const std::string& operatorName) { return digestOf("key under " + operatorName); }
  LeaseKey keyOf(const index::RunRecord& run) {
    return {run.id, run.epoch, {run.worker, run.operatorName, keyOfWorker(run.operatorName)}};
  }
  // So that the worker gets any number of leases.
  void prove(const std::string& name) {
    index::WorkerRecord worker;
    worker.name = name;
    worker.operatorName = "op";
    ASSERT_TRUE(
        *connection_.transact([&](Connection& c) { return index::upsertWorker(c, worker, clock_.now()); }));
    ASSERT_TRUE(connection_.execute("UPDATE fleet SET proven = 100"));
  }
  bool complete(const index::RunRecord& run) {
    auto done =
        connection_.transact([&](Connection& c) { return queue_.complete(c, keyOf(run), resultOf(run)); });
    EXPECT_TRUE(done) << done.error().message;
    return done && *done;
  }
  std::vector<index::JobKey> expire() {
    return *connection_.transact([&](Connection& c) { return queue_.expire(c); });
  }

  testing_support::ManualClock clock_{kStart};
  postgres::ConnectionOptions options_ = newIndex();
  Connection connection_;
  LeaseQueue queue_{clock_, Settings{}};
};

TEST_F(LeaseQueueTest, LeasesOldestFirstAndEachOnce) {
  insert(jobWithRuns("b", "b", 1, "default", kStart + seconds(1)));
  insert(jobWithRuns("a", "a", 1));
  auto first = acquire(claim("w1"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->jobId, "a");
  EXPECT_EQ(first->state, RunState::kLeased);
  EXPECT_EQ(*first->expires, kStart + seconds(30));
  EXPECT_EQ(acquire(claim("w2"))->jobId, "b");
  EXPECT_FALSE(acquire(claim("w3")));
}

TEST_F(LeaseQueueTest, ALeaseEndsWithItsJobsDeadlineAndNoneIsGivenAfterIt) {
  auto bounded = jobWithRuns("a", "a", 2);
  for (index::RunRecord& run : bounded.runs) run.jobDeadline = kStart + seconds(100);
  insert(bounded);
  clock_.advance(seconds(40));
  const auto run = acquire(claim("w1"));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->timeLimitSeconds, 60);
  EXPECT_EQ(*run->deadline, kStart + seconds(100) + Settings{}.overhead);
  EXPECT_EQ(load("a").runs[0].timeLimitSeconds + load("a").runs[1].timeLimitSeconds, 60 + 3600)
      << "the other one's is as it was";
  clock_.advance(seconds(60));
  EXPECT_FALSE(acquire(claim("w2")));
}

TEST_F(LeaseQueueTest, AShortTimeLimitStaysWithinALongDeadline) {
  auto bounded = jobWithRuns("a", "a", 1);
  bounded.runs[0].jobDeadline = kStart + std::chrono::hours(100);
  insert(bounded);
  EXPECT_EQ(acquire(claim("w1"))->timeLimitSeconds, 3600);
}

TEST_F(LeaseQueueTest, PriorityGoesFirst) {
  insert(jobWithRuns("a", "a", 1));
  auto urgent = jobWithRuns("b", "b", 1, "default", kStart + seconds(9));
  urgent.runs[0].priority = 5;
  insert(urgent);
  EXPECT_EQ(acquire(claim("w1"))->jobId, "b");
}

TEST_F(LeaseQueueTest, InstancesTakeTurns) {
  for (int i = 0; i < 3; ++i) insert(jobWithRuns("a" + std::to_string(i), "a" + std::to_string(i), 1, "big"));
  insert(jobWithRuns("z", "z", 1, "small", kStart + seconds(60)));
  EXPECT_EQ(acquire(claim("w1"))->instance, "big");
  EXPECT_EQ(acquire(claim("w2"))->instance, "small")
      << "it runs nothing yet, so it goes before the older runs of big";
  EXPECT_EQ(acquire(claim("w3"))->instance, "big");
}

TEST_F(LeaseQueueTest, AWorkerOfSomeInstancesGetsTheirWorkOnly) {
  insert(jobWithRuns("a", "a", 1, "first"));
  insert(jobWithRuns("b", "b", 1, "second", kStart + seconds(9)));
  Claim who = claim("w1");
  who.worker.instances = std::vector<std::string>{"second", "third"};
  EXPECT_EQ(acquire(who)->jobId, "b");
  EXPECT_FALSE(acquire(who));
  who.worker.instances = std::vector<std::string>();
  EXPECT_FALSE(acquire(who));
  who.worker.instances = std::nullopt;
  EXPECT_EQ(acquire(who)->jobId, "a");
}

TEST_F(LeaseQueueTest, AWarmToolchainGoesAheadButStarvesNobody) {
  auto cold = jobWithRuns("cold", "cold", 1);
  cold.runs[0].toolchainDigest = digestOf(std::string_view("other toolchain"));
  insert(cold);
  insert(jobWithRuns("warm", "warm", 1, "default", kStart + seconds(2)));
  insert(jobWithRuns("later", "later", 1, "default", kStart + seconds(20)));
  Claim who = claim("w1");
  who.warmToolchains = {digestOf(std::string_view("toolchain"))};
  EXPECT_EQ(acquire(who)->jobId, "warm");
  EXPECT_EQ(acquire(who)->jobId, "cold");
}

TEST_F(LeaseQueueTest, OnlyWhatTheWorkerServes) {
  auto job = jobWithRuns("a", "a", 1);
  job.runs[0].target = "cpu:x86-64-v4";
  insert(job);
  EXPECT_FALSE(acquire(claim("w1")));
  Claim wide = claim("w1");
  wide.targets.push_back("cpu:x86-64-v4");
  wide.kinds = {index::ActionKind::kFetch};
  EXPECT_FALSE(acquire(wide));
  wide.kinds = {index::ActionKind::kCompile};
  EXPECT_TRUE(acquire(wide));
}

TEST_F(LeaseQueueTest, ACheckGoesToWhomRunsItsTarget) {
  auto job = jobWithRuns("a", "a", 1);
  job.runs[0].kind = index::ActionKind::kCheck;
  job.runs[0].target = "cpu:x86-64-v4";
  insert(job);
  Claim compiles = claim("w1");
  compiles.kinds.push_back(index::ActionKind::kCheck);
  compiles.targets.push_back("cpu:x86-64-v4");
  EXPECT_FALSE(acquire(compiles)) << "it compiles for the target but cannot execute it";
  Claim runs = claim("w2");
  runs.kinds.push_back(index::ActionKind::kCheck);
  runs.devices = {{"cpu", {"cpu:x86-64-v3", "cpu:x86-64-v4"}, false}};
  EXPECT_TRUE(acquire(runs));
}

// A worker with a processor, a GPU and an emulated one, that checks.
Claim withDevices(const std::string& worker) {
  return {
      {worker, "op", digestOf(std::string_view("key under op"))},
      {"cuda:sm_90a"},
      {{"cpu", {"cpu:x86-64-v3"}, false}, {"gpu0", {"cuda:sm_90a"}, false}, {"gpu1", {"cuda:sm_90a"}, true}},
      {index::ActionKind::kCheck},
      {}};
}

index::JobSnapshot checkOf(const std::string& id, const std::string& target, bool emulated = false) {
  auto job = jobWithRuns(id, id, 1);
  job.runs[0].kind = index::ActionKind::kCheck;
  job.runs[0].target = target;
  job.runs[0].emulated = emulated;
  return job;
}

TEST_F(LeaseQueueTest, ACheckHoldsItsDeviceAlone) {
  insert(checkOf("a", "cuda:sm_90a"));
  insert(checkOf("b", "cuda:sm_90a"));
  insert(checkOf("c", "cpu:x86-64-v3"));
  const auto first = acquire(withDevices("w1"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->devices, std::vector<std::string>{"gpu0"});
  const auto other = acquire(withDevices("w1"));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->jobId, "c") << "the GPU is held; the processor is free";
  EXPECT_EQ(other->devices, std::vector<std::string>{"cpu"});
  EXPECT_FALSE(acquire(withDevices("w1")));
  EXPECT_EQ(load("a").runs[0].devices, std::vector<std::string>{"gpu0"});
  EXPECT_TRUE(complete(*first));
  EXPECT_EQ(acquire(withDevices("w1"))->jobId, "b");
}

TEST_F(LeaseQueueTest, ALostLeaseSetsItsDeviceFree) {
  insert(checkOf("a", "cuda:sm_90a"));
  ASSERT_TRUE(acquire(withDevices("w1")));
  EXPECT_FALSE(acquire(withDevices("w1")));
  clock_.advance(seconds(31));
  EXPECT_EQ(expire().size(), 1u);
  EXPECT_EQ(acquire(withDevices("w1"))->devices, std::vector<std::string>{"gpu0"});
}

TEST_F(LeaseQueueTest, ACompileRunsBesideADeviceThatIsHeld) {
  auto compile = jobWithRuns("b", "b", 1);
  compile.runs[0].target = "cuda:sm_90a";
  insert(checkOf("a", "cuda:sm_90a"));
  insert(compile);
  Claim who = withDevices("w1");
  who.kinds.push_back(index::ActionKind::kCompile);
  EXPECT_EQ(acquire(who)->jobId, "a");
  const auto run = acquire(who);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->jobId, "b");
  EXPECT_TRUE(run->devices.empty()) << "compiling for a GPU needs none";
}

TEST_F(LeaseQueueTest, EmulatedChecksGoToEmulatedDevicesAndOthersDoNot) {
  insert(checkOf("a", "cuda:sm_90a,cpu:x86-64-v3", true));
  Claim real = withDevices("w1");
  real.devices.pop_back();
  EXPECT_FALSE(acquire(real));
  const auto run = acquire(withDevices("w2"));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->devices, (std::vector<std::string>{"gpu1", "cpu"}));
  insert(checkOf("b", "cuda:sm_90a"));
  Claim onlyEmulated = withDevices("w3");
  onlyEmulated.devices.erase(onlyEmulated.devices.begin() + 1);
  EXPECT_FALSE(acquire(onlyEmulated));
  EXPECT_TRUE(acquire(real));
}

TEST_F(LeaseQueueTest, SeveralTargetsInOneArtifactGoToAWorkerOfAll) {
  auto job = jobWithRuns("a", "a", 1);
  job.runs[0].target = "cpu:x86-64-v4,cpu:x86-64-v3";
  insert(job);
  Claim one = claim("w1");
  one.targets = {"cpu:x86-64-v4"};
  EXPECT_FALSE(acquire(one));
  one.targets = {"cpu:x86-64-v3", "cpu:x86-64-v4"};
  EXPECT_TRUE(acquire(one));
}

TEST_F(LeaseQueueTest, OneWorkerNeverGetsTwoBuildersOfOneAction) {
  insert(jobWithRuns("a", "a", 2));
  auto first = acquire(claim("w1"));
  ASSERT_TRUE(first);
  EXPECT_FALSE(acquire(claim("w1"))) << "while it runs";
  EXPECT_TRUE(complete(*first));
  EXPECT_FALSE(acquire(claim("w1"))) << "nor after it is done";
  EXPECT_TRUE(acquire(claim("w2")));
}

TEST_F(LeaseQueueTest, OneWorkerNeverGetsTwoBuildersEvenWhenItAsksTwiceAtOnce) {
  for (const char* name : {"w1", "w2"}) prove(name);
  for (int round = 0; round < 10; ++round) {
    std::string id = "a" + std::to_string(round);
    insert(jobWithRuns(id, id, 2));
    std::atomic<int> leased = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&] {
        auto own = Connection::open(options_);
        auto run = own->transact([&](Connection& c) { return queue_.acquire(c, claim("w1")); });
        ASSERT_TRUE(run) << run.error().message;
        if (*run) ++leased;
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(leased, 1);
    acquire(claim("w2"));
  }
}

TEST_F(LeaseQueueTest, NoRunIsLeasedTwiceByManyWorkers) {
  for (int i = 0; i < 30; ++i) insert(jobWithRuns("j" + std::to_string(i), "a" + std::to_string(i), 1));
  for (int i = 0; i < 4; ++i) prove("w" + std::to_string(i));
  std::mutex mutex;
  std::multiset<std::string> leased;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      auto own = Connection::open(options_);
      for (;;) {
        auto run =
            own->transact([&](Connection& c) { return queue_.acquire(c, claim("w" + std::to_string(i))); });
        ASSERT_TRUE(run) << run.error().message;
        if (!*run) return;
        std::lock_guard lock(mutex);
        leased.insert((*run)->id);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(leased.size(), 30u);
  EXPECT_EQ(std::set<std::string>(leased.begin(), leased.end()).size(), 30u);
}

TEST_F(LeaseQueueTest, WorkersWhoseEvidenceCountsAreLeftOut) {
  auto job = jobWithRuns("a", "a", 1);
  job.runs[0].excludedWorkers = {"w1"};
  insert(job);
  EXPECT_FALSE(acquire(claim("w1")));
  EXPECT_TRUE(acquire(claim("w2")));
}

TEST_F(LeaseQueueTest, EnoughOperatorsStayReachable) {
  auto job = jobWithRuns("a", "a", 2);
  for (auto& run : job.runs) run.operatorsWanted = 2;
  insert(job);
  EXPECT_TRUE(acquire(claim("w1", "op1")));
  EXPECT_FALSE(acquire(claim("w2", "op1"))) << "the last run must go to a second operator";
  EXPECT_TRUE(acquire(claim("w3", "op2")));
}

TEST_F(LeaseQueueTest, ExtensionKeepsTheLeaseAndRecordsTheStage) {
  insert(jobWithRuns("a", "a", 1));
  auto run = acquire(claim("w1"));
  clock_.advance(seconds(20));
  EXPECT_TRUE(*queue_.extend(connection_, keyOf(*run), "codegen"));
  clock_.advance(seconds(20));
  EXPECT_TRUE(expire().empty());
  EXPECT_EQ(load("a").runs[0].stage, "codegen");
}

TEST_F(LeaseQueueTest, WhoeverLeasesItNextBeginsBeforeItsFirstStage) {
  insert(jobWithRuns("a", "a", 1));
  const auto lost = acquire(claim("w1"));
  EXPECT_TRUE(*queue_.extend(connection_, keyOf(*lost), "codegen"));
  clock_.advance(seconds(31));
  EXPECT_EQ(expire().size(), 1u);
  EXPECT_EQ(load("a").runs[0].stage, "");
  const auto again = acquire(claim("w2"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->stage, "");
  EXPECT_EQ(load("a").runs[0].stage, "");
}

TEST_F(LeaseQueueTest, EachLeaseKnowsSinceWhen) {
  insert(jobWithRuns("a", "a", 1));
  const auto lost = acquire(claim("w1"));
  const TimePoint first = clock_.now();
  clock_.advance(seconds(31));
  expire();
  const auto current = acquire(claim("w2"));
  ASSERT_TRUE(current);
  EXPECT_EQ(*queue_.leasedAt(connection_, *lost), first);
  EXPECT_EQ(*queue_.leasedAt(connection_, *current), clock_.now());
  index::RunRecord never = *current;
  never.epoch += 1;
  const auto leased = queue_.leasedAt(connection_, never);
  ASSERT_FALSE(leased);
  EXPECT_EQ(leased.error().code, Code::kInternal);
}

TEST_F(LeaseQueueTest, AnExpiredLeaseIsQueuedAgainUnderANewEpoch) {
  insert(jobWithRuns("a", "a", 1));
  auto lost = acquire(claim("w1"));
  clock_.advance(seconds(29));
  EXPECT_TRUE(expire().empty()) << "one lease time, not less";
  clock_.advance(seconds(2));
  EXPECT_EQ(expire(), (std::vector<index::JobKey>{{"default", "a"}}));
  auto again = acquire(claim("w2"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, lost->id);
  EXPECT_GT(again->epoch, lost->epoch);
  EXPECT_EQ(again->attempts, 2);
}

TEST_F(LeaseQueueTest, AStaleEpochIsRefused) {
  insert(jobWithRuns("a", "a", 1));
  auto stale = acquire(claim("w1"));
  clock_.advance(seconds(31));
  expire();
  auto current = acquire(claim("w1"));
  ASSERT_TRUE(current);
  EXPECT_FALSE(complete(*stale));
  EXPECT_FALSE(*queue_.extend(connection_, keyOf(*stale), "x"));
  EXPECT_FALSE(*queue_.find(connection_, keyOf(*stale)));
  EXPECT_TRUE(load("a").results.empty());
  EXPECT_TRUE(complete(*current));
  EXPECT_EQ(load("a").results.size(), 1u);
}

// Another worker, another operator's of this name, one with a renewed key, one that no longer serves the
// instance: to none of them is the lease there.
TEST_F(LeaseQueueTest, ALeaseIsBoundToNameOperatorKeyAndInstance) {
  insert(jobWithRuns("a", "a", 1));
  const auto run = acquire(claim("w1"));
  const Identity holder = keyOf(*run).worker;
  std::vector<Identity> others(5, holder);
  others[0].operatorName = "other";
  others[1].key = digestOf(std::string_view("another key"));
  others[2].instances = {"b"};
  others[3].instances.emplace();
  others[4].name = "w2";
  for (const Identity& other : others) {
    const LeaseKey key{run->id, run->epoch, other};
    EXPECT_FALSE(*queue_.extend(connection_, key, "other was here"));
    EXPECT_FALSE(*queue_.keepForResult(connection_, key));
    EXPECT_FALSE(*queue_.find(connection_, key));
    EXPECT_TRUE(queue_.leasedTo(connection_, other)->empty());
    EXPECT_FALSE(*connection_.transact([&](Connection& c) {
      return queue_.reject(c, key, {Code::kInvalidArgument, "no model", {}}, false);
    }));
    EXPECT_FALSE(
        *connection_.transact([&](Connection& c) { return queue_.complete(c, key, resultOf(*run)); }));
  }
  EXPECT_EQ(load("a").runs[0].state, RunState::kLeased);
  EXPECT_EQ(load("a").runs[0].stage, "");
  Identity own = holder;
  own.instances = {"default"};
  EXPECT_TRUE(*queue_.extend(connection_, {run->id, run->epoch, own}, "codegen"));
  EXPECT_EQ(queue_.leasedTo(connection_, own)->size(), 1u);
  EXPECT_TRUE(complete(*run));
}

TEST_F(LeaseQueueTest, WhatWasCancelledIsItsHoldersAloneToo) {
  insert(jobWithRuns("a", "a", 1));
  const auto run = acquire(claim("w1"));
  ASSERT_TRUE(connection_.transact([&](Connection& c) {
    return index::endJob(c, {"default", "a"}, index::JobState::kCancelled, {}, clock_.now());
  }));
  EXPECT_TRUE(*queue_.findCancelled(connection_, keyOf(*run)));
  LeaseKey other = keyOf(*run);
  other.worker.key = digestOf(std::string_view("another key"));
  EXPECT_FALSE(*queue_.findCancelled(connection_, other));
}

TEST_F(LeaseQueueTest, OneReportAboutACancelledLeaseCountsUntilTheLeaseWouldBeOver) {
  insert(jobWithRuns("a", "a", 1));
  const auto run = acquire(claim("w1"));
  ASSERT_TRUE(connection_.transact([&](Connection& c) {
    return index::endJob(c, {"default", "a"}, index::JobState::kCancelled, {}, clock_.now());
  }));
  const Digest first = digestOf(std::string_view("first")), second = digestOf(std::string_view("second"));
  EXPECT_TRUE(*queue_.isFirstOfCancelled(connection_, *run, first));
  EXPECT_FALSE(*queue_.isFirstOfCancelled(connection_, *run, second));
  EXPECT_TRUE(*queue_.isFirstOfCancelled(connection_, *run, first)) << "the same once more";
  clock_.advance(*run->deadline - clock_.now() - seconds(1));
  EXPECT_TRUE(*queue_.findCancelled(connection_, keyOf(*run)));
  clock_.advance(seconds(1));
  EXPECT_FALSE(*queue_.findCancelled(connection_, keyOf(*run)));
}

TEST_F(LeaseQueueTest, WorkersOfOneNameUnderTwoOperatorsAreTwo) {
  insert(jobWithRuns("a", "a", 2));
  ASSERT_TRUE(acquire(claim("w1", "op")));
  EXPECT_FALSE(acquire(claim("w1", "op")));
  EXPECT_TRUE(acquire(claim("w1", "other")));
  auto job = jobWithRuns("b", "b", 1);
  job.runs[0].excludedWorkers = {"op/w1"};
  insert(job);
  EXPECT_FALSE(acquire(claim("w1", "op")));
  EXPECT_TRUE(acquire(claim("w1", "other")));
}

// A coordinator of the release before gave the lease, by the worker's name and operator.
TEST_F(LeaseQueueTest, ALeaseWithoutAKeyIsItsOperatorsWorkers) {
  insert(jobWithRuns("a", "a", 1));
  const auto run = acquire(claim("w1"));
  ASSERT_TRUE(connection_.execute("UPDATE runs SET worker_key = ''"));
  LeaseKey other = keyOf(*run);
  other.worker.operatorName = "other";
  EXPECT_FALSE(*queue_.find(connection_, other));
  EXPECT_TRUE(complete(*run));
}

TEST_F(LeaseQueueTest, AResultCountsOnce) {
  insert(jobWithRuns("a", "a", 1));
  auto run = acquire(claim("w1"));
  EXPECT_TRUE(complete(*run));
  EXPECT_FALSE(complete(*run));
  EXPECT_EQ(load("a").results.size(), 1u);
}

TEST_F(LeaseQueueTest, TheAttemptLimitFailsTheRunWithTheLastReason) {
  insert(jobWithRuns("a", "a", 1));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(acquire(claim("w" + std::to_string(i)))) << i;
    clock_.advance(seconds(31));
    expire();
  }
  EXPECT_FALSE(acquire(claim("w9")));
  auto run = load("a").runs[0];
  EXPECT_EQ(run.state, RunState::kFailed);
  EXPECT_EQ(run.errorMessage, "worker w2 was silent for longer than the lease of 30 s");
}

TEST_F(LeaseQueueTest, AReportedFailureGoesToAnotherWorkerFirst) {
  insert(jobWithRuns("a", "a", 1));
  auto run = acquire(claim("w1"));
  auto rejected = connection_.transact([&](Connection& c) {
    return queue_.reject(c, keyOf(*run), Error{Code::kUnavailable, "disk full", {}}, true);
  });
  ASSERT_TRUE(*rejected);
  EXPECT_FALSE(acquire(claim("w1")));
  clock_.advance(seconds(31));
  EXPECT_TRUE(acquire(claim("w1"))) << "after one lease time it may try again itself";
}

TEST_F(LeaseQueueTest, AFinalFailureIsNotTriedAgain) {
  insert(jobWithRuns("a", "a", 1));
  auto run = acquire(claim("w1"));
  (void)connection_.transact([&](Connection& c) {
    return queue_.reject(c, keyOf(*run), Error{Code::kPermissionDenied, "host not allowed", {}}, false);
  });
  EXPECT_FALSE(acquire(claim("w2")));
  EXPECT_EQ(load("a").runs[0].state, RunState::kFailed);
  EXPECT_EQ(load("a").runs[0].errorMessage, "host not allowed");
}

TEST_F(LeaseQueueTest, ARestoredDatabaseOpensANewGeneration) {
  insert(jobWithRuns("a", "a", 2));
  auto before = acquire(claim("w1"));
  EXPECT_EQ(*index::openGeneration(connection_), 1u) << "the same database again";
  ASSERT_TRUE(connection_.execute("UPDATE farm SET system_identifier = 'another'"));
  EXPECT_EQ(*index::openGeneration(connection_), 2u);
  auto after = acquire(claim("w2"));
  EXPECT_EQ(before->epoch >> 32, 1u);
  EXPECT_EQ(after->epoch >> 32, 2u);
}

TEST_F(LeaseQueueTest, AfterAnOutageLeasesGetAFullTerm) {
  insert(jobWithRuns("a", "a", 1));
  auto run = acquire(claim("w1"));
  clock_.advance(seconds(300));
  ASSERT_TRUE(queue_.extendAll(connection_));
  EXPECT_TRUE(expire().empty());
  EXPECT_TRUE(complete(*run));
}

TEST_F(LeaseQueueTest, AfterTheClockWasSetLeasesBeginAnew) {
  for (const Duration by : {Duration(std::chrono::hours(5)), Duration(-std::chrono::hours(5))}) {
    const std::string name = by > Duration::zero() ? "forward" : "back";
    insert(jobWithRuns(name, name, 1));
    auto run = acquire(claim("w1"));
    ASSERT_TRUE(run);
    const TimePoint before = clock_.now();
    clock_.advance(by);
    for (int i = 0; i < 2; ++i)
      ASSERT_TRUE(connection_.transact([&](Connection& c) { return queue_.startAnew(c, before); }));
    clock_.advance(seconds(29));
    EXPECT_TRUE(expire().empty()) << name;
    EXPECT_TRUE(*queue_.extend(connection_, keyOf(*run), "x"));
    clock_.advance(seconds(31));
    EXPECT_EQ(expire().size(), 1u) << name << ": silence still ends a lease";
    EXPECT_EQ(
        connection_.execute("SELECT FROM attempts WHERE outcome = 'lost' AND run_id = $1", {run->id})->size(),
        1)
        << "which is not its limit";
    ASSERT_TRUE(connection_.execute("DELETE FROM jobs"));
  }
}

TEST_F(LeaseQueueTest, CancellingTheJobEndsItsLeases) {
  insert(jobWithRuns("a", "a", 2));
  auto run = acquire(claim("w1"));
  EXPECT_TRUE(*connection_.transact([&](Connection& c) {
    return index::endJob(c, {"default", "a"}, index::JobState::kCancelled, {}, clock_.now());
  }));
  EXPECT_FALSE(*queue_.extend(connection_, keyOf(*run), "x"));
  EXPECT_FALSE(acquire(claim("w2")));
  EXPECT_TRUE(queue_.leasedTo(connection_, claim("w1").worker)->empty());
  EXPECT_FALSE(*index::endJob(connection_, {"default", "a"}, index::JobState::kFailed, {}, clock_.now()))
      << "a job ends once";
}

}  // namespace
}  // namespace kiln::queue
