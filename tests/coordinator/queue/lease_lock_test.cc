// Leases when two coordinators reach for the same run at one moment, forced by a transaction that holds its
// row.
#include "coordinator/queue/lease_queue.h"
#include "storage/index/jobs/job_changes.h"
#include "tests/storage/index/index_fixture.h"
#include "tests/support/manual_clock.h"
#include "tests/support/open_transaction.h"

namespace kiln::queue {
namespace {

using namespace index::testing;
using index::RunRecord;
using index::RunState;
using postgres::Connection;
using testing_support::OpenTransaction;

constexpr char kCancel[] = "UPDATE runs SET state = 4, expires = NULL";

class LeaseLockTest : public ::testing::Test {
 protected:
  LeaseLockTest() : connection_(std::move(*Connection::open(options_))) {
    Status status =
        connection_.transact([](Connection& c) { return index::insertJob(c, jobWithRuns("j", "a", 1)); });
    EXPECT_TRUE(status) << status.error().message;
  }

  template <class F>
  auto start(F body) {
    return std::async(std::launch::async, [this, body] { return connection_.transact(body); });
  }
  auto startAcquire(const std::string& worker) {
    return start([this, worker](Connection& c) {
      return queue_.acquire(c,
                            {{worker, "op", {}}, {"cpu:x86-64-v3"}, {}, {index::ActionKind::kCompile}, {}});
    });
  }
  RunRecord acquired() { return startAcquire("w1").get().value().value(); }
  LeaseKey keyOf(const RunRecord& run) { return {run.id, run.epoch, {run.worker, run.operatorName, {}}}; }
  RunState state() {
    auto rows = connection_.execute("SELECT state FROM runs").value();
    return rows.map([](const postgres::Row& row) { return static_cast<RunState>(row.get<int>("state")); })
        .value()
        .at(0);
  }

  testing_support::ManualClock clock_{kStart};
  postgres::ConnectionOptions options_ = newIndex();
  Connection connection_;
  LeaseQueue queue_{clock_, Settings{}};
};

TEST_F(LeaseLockTest, ARunThatSomebodyElseIsLeasingIsPassedOver) {
  OpenTransaction other(options_, "SELECT FROM runs FOR UPDATE");
  auto run = startAcquire("w1");
  EXPECT_FALSE(other.isAwaitedBy(run)) << "it waits for a row that another coordinator is leasing";
  other.commit();
  EXPECT_FALSE(run.get().value());
}

TEST_F(LeaseLockTest, AResultOfARunCancelledMeanwhileDoesNotCount) {
  const RunRecord run = acquired();
  OpenTransaction other(options_, kCancel);
  auto done = start([&](Connection& c) { return queue_.complete(c, keyOf(run), resultOf(run)); });
  EXPECT_TRUE(other.isAwaitedBy(done));
  other.commit();
  EXPECT_FALSE(done.get().value());
  EXPECT_EQ(state(), RunState::kCancelled);
}

TEST_F(LeaseLockTest, AFailureOfARunCancelledMeanwhileDoesNotQueueItAgain) {
  const RunRecord run = acquired();
  OpenTransaction other(options_, kCancel);
  auto done = start(
      [&](Connection& c) { return queue_.reject(c, keyOf(run), {Code::kInternal, "broke", {}}, true); });
  EXPECT_TRUE(other.isAwaitedBy(done));
  other.commit();
  EXPECT_FALSE(done.get().value());
  EXPECT_EQ(state(), RunState::kCancelled);
}

TEST_F(LeaseLockTest, AnExpiredLeaseThatIsBeingReportedIsLeftToTheReport) {
  const RunRecord run = acquired();
  clock_.advance(std::chrono::hours(1));
  OpenTransaction other(options_, "UPDATE runs SET state = 2, expires = NULL");  // its result is being stored
  auto expired = start([&](Connection& c) { return queue_.expire(c); });
  EXPECT_FALSE(other.isAwaitedBy(expired));
  other.commit();
  EXPECT_TRUE(expired.get().value().empty());
  EXPECT_EQ(state(), RunState::kDone);
}

}  // namespace
}  // namespace kiln::queue
