// A queue with workers that have called, and a clock that is moved by hand.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/queue/lease_queue.h"
#include "storage/index/fleet/worker_repository.h"
#include "storage/index/jobs/job_changes.h"
#include "tests/storage/index/index_fixture.h"
#include "tests/support/manual_clock.h"

namespace kiln::queue::testing {

using namespace index::testing;
using index::RunRecord;
using index::RunState;
using postgres::Connection;
using std::chrono::seconds;

// Workers of one fleet, and what they do with runs.
class FleetTest : public ::testing::Test {
 protected:
  FleetTest() : connection_(std::move(*Connection::open(options_))) {}

  // Calls, as what a farm of these workers would do all the time.
  void call(const std::string& name, const std::string& operatorName = "op", bool draining = false,
            const std::vector<std::string>& targets = {"cpu:x86-64-v3"},
            std::optional<std::vector<std::string>> instances = {}) {
    index::WorkerRecord worker;
    worker.name = name;
    worker.operatorName = operatorName;
    worker.certificate = digestOf("certificate of " + name);
    worker.targets = targets;
    worker.kinds = {index::ActionKind::kCompile};
    worker.draining = draining;
    worker.lastContact = clock_.now();
    worker.instances = std::move(instances);
    const auto stored = connection_.transact(
        [&](Connection& c) { return index::upsertWorker(c, worker, clock_.now() - seconds(30)); });
    ASSERT_TRUE(stored) << stored.error().message;
    EXPECT_TRUE(*stored);
  }
  void insert(const index::JobSnapshot& job) {
    ASSERT_TRUE(connection_.transact([&](Connection& c) { return index::insertJob(c, job); }));
  }
  std::optional<RunRecord> acquire(const std::string& worker, const std::string& operatorName = "op") {
    const Claim claim{{worker, operatorName, {}}, {"cpu:x86-64-v3"}, {}, {index::ActionKind::kCompile}, {}};
    auto run = connection_.transact([&](Connection& c) { return queue_.acquire(c, claim); });
    EXPECT_TRUE(run) << run.error().message;
    return run ? *run : std::nullopt;
  }
  void reject(const RunRecord& run, bool retryable, const std::string& words = "no model",
              bool fleetKnown = true) {
    const auto rejected = connection_.transact([&](Connection& c) {
      return queue_.reject(c, {run.id, run.epoch, {run.worker, run.operatorName, {}}},
                           {Code::kInvalidArgument, words, {}}, retryable, fleetKnown);
    });
    ASSERT_TRUE(rejected) << rejected.error().message;
    EXPECT_TRUE(*rejected);
  }
  RunRecord runOf(const std::string& job, std::size_t number = 0) {
    return index::loadJob(connection_, {"default", job}, index::Evidence::kWith)->value().runs.at(number);
  }
  // A lease time's silence, or less: what is over is queued again.
  std::size_t expire() {
    return connection_.transact([&](Connection& c) { return queue_.expire(c); })->size();
  }
  bool report(const RunRecord& run) {
    return *queue_.extend(connection_, {run.id, run.epoch, {run.worker, run.operatorName, {}}}, "compiling");
  }
  bool complete(const RunRecord& run) {
    return *connection_.transact([&](Connection& c) {
      return queue_.complete(c, {run.id, run.epoch, {run.worker, run.operatorName, {}}}, resultOf(run));
    });
  }
  std::size_t failAbandoned(bool fleetKnown = true) {
    return connection_.transact([&](Connection& c) { return queue_.failAbandoned(c, fleetKnown); })->size();
  }

  testing_support::ManualClock clock_{kStart};
  postgres::ConnectionOptions options_ = newIndex();
  Connection connection_;
  LeaseQueue queue_{clock_, Settings{}};
};

}  // namespace kiln::queue::testing
