// What waits and runs, as FleetService tells it.
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::FakeWorker;

class FleetQueue : public FarmTest {
 protected:
  FleetQueue() { EXPECT_TRUE(addToolchain(putToolchain()).ok()); }

  // As of now: what was looked at a second ago is not looked at again.
  v1::Queue queueOf(const std::string& instance) {
    clock_.advance(std::chrono::seconds(2));
    v1::GetQueueRequest request;
    request.set_instance(instance);
    grpc::ClientContext context;
    v1::Queue queue;
    const grpc::Status status = fleetStub_->GetQueue(&context, request, &queue);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return queue;
  }
  v1::Queue::Kind kindOf(const v1::Queue& queue, v1::ActionKind kind) {
    for (const v1::Queue::Kind& one : queue.kinds())
      if (one.kind() == kind) return one;
    return {};
  }
  v1::ListQueuesResponse all() {
    grpc::ClientContext context;
    v1::ListQueuesResponse response;
    EXPECT_TRUE(fleetStub_->ListQueues(&context, {}, &response).ok());
    return response;
  }
};

TEST_F(FleetQueue, TellsWhatWaitsRunsAndIsExpected) {
  EXPECT_EQ(queueOf("default").kinds_size(), 0);
  auto one = worker("w1");
  const v1::Job job = submitted(request("k1"));
  const TimePoint before = clock_.now();
  v1::Queue::Kind compile = kindOf(queueOf("default"), v1::ACTION_COMPILE);
  EXPECT_EQ(compile.queued(), 1u);
  EXPECT_EQ(compile.running(), 0u);
  EXPECT_EQ(compile.oldest().seconds(),
            std::chrono::duration_cast<std::chrono::seconds>(before.time_since_epoch()).count());
  EXPECT_FALSE(compile.has_expected()) << "none has ended";

  const auto leases = one->poll();
  ASSERT_EQ(leases.size(), 2u);
  EXPECT_EQ(kindOf(queueOf("default"), v1::ACTION_COMPILE).running(), 1u);
  clock_.advance(std::chrono::seconds(18));  // and two in which the queue was looked at
  std::vector<v1::LeaseReport> reports;
  for (const v1::Lease& lease : leases) reports.push_back(one->run(lease).value());
  ASSERT_TRUE(one->synchronize(reports));

  submitted(request("k2", 1, "another model"));
  submitted(request("k3", 1, "a third model"));
  compile = kindOf(queueOf("default"), v1::ACTION_COMPILE);
  EXPECT_EQ(compile.queued(), 2u);
  EXPECT_EQ(compile.expected().seconds(), 40) << "two that take as long as the first did";
}

TEST_F(FleetQueue, AnInstanceIsToldOfItselfAlone) {
  instance_ = "other";
  EXPECT_TRUE(addToolchain(putToolchain()).ok());
  const auto one = worker("w1");
  submitted(request("k1"));
  EXPECT_EQ(queueOf("default").kinds_size(), 0);
  EXPECT_GT(queueOf("other").kinds_size(), 0);
  farm_.leasing.quotas->replace(
      quota::QuotaRules::parse(
          R"({"apiVersion":"kiln/v1","kind":"Quotas","instances":{"other":{"weight":3,"running":5}}})")
          .value());
  const v1::ListQueuesResponse queues = all();
  ASSERT_EQ(queues.queues_size(), 1);
  EXPECT_EQ(queues.queues(0).instance(), "other");
  EXPECT_EQ(queues.queues(0).weight(), 3);
  EXPECT_EQ(queues.queues(0).max_running(), 5);
  EXPECT_FALSE(queues.queues(0).has_max_queued());
}

TEST_F(FleetQueue, ManyWhoAskLookOnce) {
  const auto one = worker("w1");
  EXPECT_EQ(queueOf("default").kinds_size(), 0);
  submitted(request("k1"));
  EXPECT_EQ(all().queues_size(), 0) << "the look of a moment ago";
  clock_.advance(-std::chrono::hours(1));
  EXPECT_EQ(all().queues_size(), 1) << "a clock that was put back";
}

}  // namespace
}  // namespace kiln::service
