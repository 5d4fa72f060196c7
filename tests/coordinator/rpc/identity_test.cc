// Who a worker is: not its name alone. And who is shown to whom.
#include "coordinator/rpc/worker_address.h"

#include <filesystem>

#include "storage/index/fleet/worker_repository.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::FakeWorker;

TEST(Place, IsTheAddressWithoutThePort) {
  EXPECT_EQ(peerAddress("ipv4:10.1.2.3:4711"), "10.1.2.3");
  EXPECT_EQ(peerAddress("ipv6:[2001:db8::7]:4711"), "2001:db8::7");
  EXPECT_EQ(peerAddress("ipv6:%5B2001:db8::7%5D:4711"), "2001:db8::7");
  for (const char* own :
       {"unix:", "unix:/run/kiln.sock", "ipv4:127.0.0.1:80", "ipv6:[::1]:80", "ipv6:%5B::1%5D:80"})
    EXPECT_EQ(peerAddress(own), "local") << own;
  EXPECT_NE(peerAddress("ipv4:10.1.2.3:1"), peerAddress("ipv4:10.1.2.30:1"));
}

class WorkerIdentity : public FarmTest {
 protected:
  WorkerIdentity() { EXPECT_TRUE(addToolchain(putToolchain()).ok()); }

  // Has a key of its own, whoever else is called like it.
  std::unique_ptr<FakeWorker> speaking(const std::string& name, const std::string& operatorName,
                                       std::shared_ptr<grpc::Channel> channel) {
    const std::string own = directory_ / ("speaking" + std::to_string(++speaking_));
    std::filesystem::create_directory(own);
    return std::make_unique<FakeWorker>(std::move(channel), *blobs_, authority_, own, name, operatorName,
                                        clock_.now());
  }
  std::unique_ptr<FakeWorker> called(const std::string& name, const std::string& operatorName) {
    auto worker = speaking(name, operatorName, channel_);
    EXPECT_TRUE(worker->synchronize({}));
    return worker;
  }

  std::size_t rows(const std::string& what) { return pool_.execute("SELECT 1 FROM " + what)->size(); }
  // What `other` says of a lease that is not its own: nothing of it counts, and it is told to drop it.
  void expectIgnored(FakeWorker& other, const v1::Lease& lease) {
    v1::LeaseReport running = FakeWorker::running(lease, "other was here");
    v1::LeaseReport never = running;
    never.mutable_finished()->set_error_code(static_cast<int>(Code::kInvalidArgument));
    for (const v1::LeaseReport& report : {running, never, other.run(lease).value()}) {
      const auto answer = other.synchronize({report});
      ASSERT_TRUE(answer) << answer.error().message;
      ASSERT_EQ(answer->forget_size(), 1);
      EXPECT_EQ(answer->forget(0), lease.id());
    }
    EXPECT_EQ(rows("action_results"), 0u);
    EXPECT_EQ(rows("runs WHERE stage <> ''"), 0u);
    EXPECT_EQ(rows("attempts WHERE ended IS NOT NULL"), 0u);
  }

  int speaking_ = 0;
};

TEST_F(WorkerIdentity, AnotherOperatorsWorkerOfTheSameNameHasNoneOfItsLeases) {
  auto mine = called("w1", "a");
  v1::Job job = submitted(request("k1"));
  const auto leases = mine->poll();
  ASSERT_EQ(leases.size(), 2u);
  auto theirs = called("w1", "b");
  theirs->description.set_slots(0);
  EXPECT_TRUE(theirs->poll().empty()) << "it is shown none of them";
  for (const v1::Lease& lease : leases) expectIgnored(*theirs, lease);
  settle(job.id(), {mine.get()});
  EXPECT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();
  EXPECT_EQ(rows("action_results WHERE operator <> 'a'"), 0u);
  EXPECT_EQ(rows("fleet"), 2u);
}

TEST_F(WorkerIdentity, AnotherKeyOfTheSameWorkerHasNoneOfItsLeases) {
  auto before = called("w1", "op");
  submitted(request("k1"));
  const auto leases = before->poll();
  ASSERT_EQ(leases.size(), 2u);
  auto renewed = called("w1", "op");
  renewed->description.set_slots(0);
  for (const v1::Lease& lease : leases) expectIgnored(*renewed, lease);
}

TEST_F(WorkerIdentity, TwoOperatorsWorkersOfOneNameAreTwoBuilders) {
  auto one = called("w1", "a"), two = called("w1", "b");
  v1::SubmitJobRequest wanted = request("k1", 2);
  DeliverySpec delivery;
  delivery.builders = 2;
  delivery.operators = 2;
  wanted.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
  v1::Job job = submitted(wanted);
  settle(job.id(), {one.get(), two.get()});
  EXPECT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();
}

TEST_F(WorkerIdentity, ACallCountsByTheClockThatWasPutBack) {
  auto one = called("w1", "op");
  clock_.advance(std::chrono::hours(24));
  ASSERT_TRUE(one->synchronize({}));
  EXPECT_EQ(rows("fleet WHERE last_contact = first_contact + interval '1 day'"), 1u);
  clock_.advance(-std::chrono::hours(24));
  ASSERT_TRUE(one->synchronize({}));
  EXPECT_EQ(rows("fleet WHERE last_contact = first_contact"), 1u);
}

// A second coordinator, which is reached over another way.
TEST_F(WorkerIdentity, OneWorkerSpeaksFromOnePlaceAtATime) {
  JobDriver driver(farm_.planning, farm_.leasing, farm_.observers);
  WorkerService service(farm_.stores, farm_.signatory, farm_.leasing, farm_.observers, farm_.recalls, driver);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const auto elsewhere =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());

  auto here = called("w1", "op");
  auto copy = speaking("w1", "op", elsewhere);
  submitted(request("k1"));
  const auto refused = copy->synchronize({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_NE(refused.error().message.find("already calls from another address"), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(here->poll().empty());
  clock_.advance(std::chrono::seconds(31));
  EXPECT_TRUE(copy->synchronize({})) << "the other has been silent";
  EXPECT_FALSE(here->synchronize({}));
  server->Shutdown();
}

TEST_F(WorkerIdentity, AnInstanceIsShownTheWorkersThatServeItAlone) {
  const auto known = [&](const std::string& name, const std::string& operatorName,
                         std::optional<std::vector<std::string>> instances) {
    index::WorkerRecord record;
    record.name = name;
    record.operatorName = operatorName;
    record.instances = std::move(instances);
    record.targets = {"cpu:" + name};
    record.lastContact = clock_.now();
    EXPECT_TRUE(*pool_.transact(
        [&](postgres::Connection& c) { return index::upsertWorker(c, record, TimePoint()); }));
  };
  known("worker-1", "ours", {{"default"}});
  known("worker-2", "theirs", {{"other"}});
  known("shared", "farm", {});
  const auto shownTo = [&](const std::string& instance) {
    v1::ListWorkersRequest request;
    request.set_instance(instance);
    grpc::ClientContext context;
    v1::ListWorkersResponse response;
    EXPECT_TRUE(fleetStub_->ListWorkers(&context, request, &response).ok());
    std::string names;
    for (const auto& one : response.workers()) names += one.description().name() + " ";
    return names;
  };
  EXPECT_EQ(shownTo("default"), "shared worker-1 ");
  EXPECT_EQ(shownTo("other"), "shared worker-2 ");

  // Nor does a mistyped name or a target that nobody serves tell them.
  const auto askedAbout = [&](auto set) {
    v1::ListAffectedRequest request;
    request.set_instance("default");
    set(request);
    grpc::ClientContext context;
    v1::ListAffectedResponse response;
    const grpc::Status status = auditStub_->ListAffected(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    return status.error_message();
  };
  const std::string worker = askedAbout([](auto& r) { r.set_worker("worker-3"); });
  EXPECT_NE(worker.find("worker-1"), std::string::npos) << worker;
  EXPECT_EQ(worker.find("worker-2"), std::string::npos) << worker;
  const std::string exact = askedAbout([](auto& r) { r.set_worker("worker-2"); });
  EXPECT_NE(exact.find("never seen"), std::string::npos) << exact;
  const std::string operators = askedAbout([](auto& r) { r.set_operator_("their"); });
  EXPECT_EQ(operators.find("theirs"), std::string::npos) << operators;
  v1::Job job;
  const grpc::Status refused = submit(request("k1"), &job);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error_message().find("cpu:worker-1"), std::string::npos) << refused.error_message();
  EXPECT_EQ(refused.error_message().find("cpu:worker-2"), std::string::npos) << refused.error_message();
}

}  // namespace
}  // namespace kiln::service
