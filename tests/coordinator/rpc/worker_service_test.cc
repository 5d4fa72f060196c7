// What Synchronize remembers of a worker and when it gives out leases, and what the fleet's list shows.
#include "coordinator/rpc/worker_service.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <thread>

#include "storage/index/fleet/worker_repository.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;
using std::chrono::seconds;

class WorkerServiceTest : public FarmTest {
 protected:
  WorkerServiceTest() { EXPECT_TRUE(addToolchain(putToolchain()).ok()); }

  std::size_t rows(const std::string& what) { return pool_.execute("SELECT 1 FROM " + what)->size(); }
  grpc::Status listed(v1::ListWorkersResponse* workers) {
    v1::ListWorkersRequest request;
    request.set_instance(instance_);
    grpc::ClientContext context;
    return fleetStub_->ListWorkers(&context, request, workers);
  }
  TimePoint lastContact() {
    v1::ListWorkersResponse workers;
    EXPECT_TRUE(listed(&workers).ok());
    return TimePoint(seconds(workers.workers(0).last_contact().seconds()));
  }
};

TEST_F(WorkerServiceTest, AContactIsStoredAgainAfterAThirdOfALease) {
  auto one = worker("w1");
  const TimePoint first = lastContact();
  const Duration third = farm_.leasing.queue.settings().lease / 3;
  clock_.advance(third - seconds(1));
  ASSERT_TRUE(one->synchronize({}));
  EXPECT_EQ(lastContact(), first) << "most calls write nothing";
  clock_.advance(seconds(1));
  ASSERT_TRUE(one->synchronize({}));
  EXPECT_EQ(lastContact(), first + third);
}

// A map of protobuf has no order: whoever compared its bytes would find each call another worker's.
TEST_F(WorkerServiceTest, AWorkerWithManyFactsIsStoredOnce) {
  auto one = worker("w1");
  for (int i = 0; i < 20; ++i)
    (*one->description.mutable_facts())["fact " + std::to_string(i)] = std::to_string(i);
  ASSERT_TRUE(one->synchronize({}));
  const auto version = [&] {
    return pool_.execute("SELECT xmin::text AS v FROM fleet")->first([](const postgres::Row& row) {
      return row.get<std::string>("v");
    });
  };
  const std::string stored = version().value().value();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(one->synchronize({}));
  EXPECT_EQ(version().value().value(), stored);
}

// Many calls at once are one write.
TEST_F(WorkerServiceTest, ContactsOfASecondAreStoredTogether) {
  auto one = worker("w1"), two = worker("w2");
  const auto stored = [&](const std::string& name) {
    return rows("fleet WHERE name = '" + name + "' AND last_contact = to_timestamp(" +
                std::to_string(clock_.now().time_since_epoch() / seconds(1)) + ")");
  };
  clock_.advance(seconds(20));
  ASSERT_TRUE(one->synchronize({}));
  ASSERT_TRUE(two->synchronize({}));
  EXPECT_EQ(stored("w1"), 1u);
  EXPECT_EQ(stored("w2"), 0u) << "just after another";
  const TimePoint called = clock_.now();
  clock_.advance(seconds(1));
  ASSERT_TRUE(one->synchronize({}));
  EXPECT_EQ(rows("fleet WHERE name = 'w2' AND last_contact = to_timestamp(" +
                 std::to_string(called.time_since_epoch() / seconds(1)) + ")"),
            1u)
      << "as of when it called";
}

TEST_F(WorkerServiceTest, AnAuthoritysSignatureCountsForAsLongAsTheCertificate) {
  auto one = worker("w1");
  clock_.advance(std::chrono::hours(366 * 24));
  const auto late = one->synchronize({});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kUnauthenticated);
}

// Most reports of progress come long before the lease ends and say nothing new.
TEST_F(WorkerServiceTest, ALeaseIsExtendedOnceItLacksAQuarterOfItsTime) {
  auto one = worker("w1");
  submitted(request("k1"));
  const std::vector<v1::Lease> leases = one->poll();
  ASSERT_FALSE(leases.empty());
  const auto leftAfter = [&](seconds time, const std::string& stage) {
    clock_.advance(time);
    const auto answer = one->synchronize({testing_support::FakeWorker::running(leases[0], stage)});
    EXPECT_TRUE(answer && answer->forget().empty() && answer->run_size() > 0);
    const auto expires = pool_.execute("SELECT expires FROM runs WHERE id = $1", {leases[0].id()});
    return *expires->first([](const postgres::Row& row) { return row.get<TimePoint>("expires"); }).value() -
           clock_.now();
  };
  EXPECT_EQ(leftAfter(seconds(1), "compiling"), seconds(30)) << "a new stage";
  EXPECT_EQ(leftAfter(seconds(7), "compiling"), seconds(23));
  EXPECT_EQ(leftAfter(seconds(1), "compiling"), seconds(30));
}

// A worker that was killed while its call waited for work.
TEST_F(WorkerServiceTest, ACallerThatIsGoneIsGivenNothing) {
  auto gone = worker("gone"), here = worker("here");
  clock_.advance(seconds(20));
  grpc::ClientContext context;
  v1::SynchronizeRequest request;
  *request.mutable_worker() = gone->description;
  auto stub = v1::WorkerService::NewStub(channel_);
  std::thread call([&] {
    v1::SynchronizeResponse response;
    EXPECT_EQ(stub->Synchronize(&context, request, &response).error_code(), grpc::StatusCode::CANCELLED);
  });
  const std::string contact = "fleet WHERE name = 'gone' AND last_contact > to_timestamp(" +
                              std::to_string(clock_.now().time_since_epoch() / seconds(1) - 1) + ")";
  while (rows(contact) == 0) std::this_thread::yield();
  context.TryCancel();
  call.join();
  const v1::Job job = submitted(FarmTest::request("k1"));
  feed_.publishAll();
  settle(job.id(), {here.get()});
  EXPECT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED);
  EXPECT_EQ(rows("attempts WHERE worker = 'gone'"), 0u);
}

// A call that waits, until it is answered.
struct WaitingCall {
  WaitingCall(v1::WorkerService::Stub& stub, const v1::WorkerDescription& worker) {
    *request.mutable_worker() = worker;
    stub.async()->Synchronize(&context, &request, &response,
                              [this](grpc::Status status) { promise.set_value(status); });
  }
  bool answered() const { return answer.wait_for(seconds(0)) == std::future_status::ready; }

  grpc::ClientContext context;
  v1::SynchronizeRequest request;
  v1::SynchronizeResponse response;
  std::promise<grpc::Status> promise;
  std::future<grpc::Status> answer = promise.get_future();
};
using WaitingCalls = std::vector<std::unique_ptr<WaitingCall>>;

// Or who calls often enough keeps what comes from others, and all the memory.
TEST_F(WorkerServiceTest, OneCallOfAWorkerWaits) {
  auto one = worker("w1");
  auto stub = v1::WorkerService::NewStub(channel_);
  WaitingCalls calls;
  for (int i = 0; i < 50; ++i) calls.push_back(std::make_unique<WaitingCall>(*stub, one->description));
  const auto open = [&] {
    return std::ranges::count_if(calls, [](const auto& call) { return !call->answered(); });
  };
  while (open() > 1) std::this_thread::yield();
  EXPECT_EQ(open(), 1) << "which has not waited for as long as it may";
  feed_.close();
  for (const auto& call : calls) EXPECT_TRUE(call->answer.get().ok());
}

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST_F(WorkerServiceTest, WorkersThatWaitHoldNoThreadsAndOthersAreServed) {
  constexpr std::size_t kWorkers = 200;
  auto stub = v1::WorkerService::NewStub(channel_);
  auto other = worker("other");
  const std::ptrdiff_t before = threads();
  WaitingCalls calls;
  while (calls.size() < kWorkers) {
    testing_support::FakeWorker one(channel_, *blobs_, authority_, directory_.path(),
                                    "w" + std::to_string(calls.size()), "op", clock_.now());
    one.description.clear_targets();
    one.description.clear_kinds();
    calls.push_back(std::make_unique<WaitingCall>(*stub, one.description));
  }
  while (rows("fleet") < kWorkers) std::this_thread::yield();
  EXPECT_LT(threads() - before, 50);
  submitted(request("k1"));
  EXPECT_FALSE(other->poll().empty());
  feed_.close();
  for (const auto& call : calls) EXPECT_TRUE(call->answer.get().ok());
}

TEST_F(WorkerServiceTest, AStoppingCoordinatorGivesNothing) {
  auto one = worker("w1");
  submitted(request("k1"));
  feed_.close();
  EXPECT_TRUE(one->poll().empty());
  EXPECT_EQ(rows("attempts"), 0u);
}

TEST_F(WorkerServiceTest, AStoppingCoordinatorEndsNoWork) {
  auto one = worker("w1");
  submitted(request("k1"));
  const std::vector<v1::Lease> leases = one->poll();
  ASSERT_FALSE(leases.empty());
  feed_.close();
  const auto answer = one->synchronize({testing_support::FakeWorker::running(leases[0], "compiling")});
  ASSERT_FALSE(answer) << "its lease is not in it, so the worker would stop";
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
}

TEST_F(WorkerServiceTest, AReportThatCanNameNoLeaseLosesNoneBesideIt) {
  auto one = worker("w1");
  const v1::Job job = submitted(request("k1"));
  const std::vector<v1::Lease> leases = one->poll();
  ASSERT_FALSE(leases.empty());
  v1::LeaseReport late, cut;
  late.set_lease_id(leases[0].id());
  late.set_epoch(std::uint64_t{1} << 63);
  late.mutable_running();
  cut = late;
  cut.set_lease_id(std::string("a\0b", 3));
  cut.set_epoch(1);
  const auto answer = one->synchronize({late, cut, one->run(leases[0]).value()});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->forget_size(), 3);
  EXPECT_EQ(rows("attempts WHERE outcome = 'done'"), 1u);
}

// Forwards calls as the gate of a server does for a worker that serves one instance.
class OneInstance final : public v1::WorkerService::CallbackService {
 public:
  explicit OneInstance(WorkerService& inner) : inner_(inner) {}
  grpc::ServerUnaryReactor* Synchronize(grpc::CallbackServerContext* context,
                                        const v1::SynchronizeRequest* request,
                                        v1::SynchronizeResponse* response) override {
    return inner_.synchronize(*context, *request, *response, {{"other"}});
  }

 private:
  WorkerService& inner_;
};

TEST_F(WorkerServiceTest, AWorkerIsRememberedWithTheInstancesThatItServes) {
  OneInstance service(workers_);
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  testing_support::FakeWorker one(server->InProcessChannel({}), *blobs_, authority_, directory_.path(), "w1",
                                  "op", clock_.now());
  ASSERT_TRUE(one.synchronize({}));
  v1::ListWorkersResponse workers;
  ASSERT_TRUE(listed(&workers).ok());
  EXPECT_EQ(workers.workers_size(), 0) << "instance default sees it not";
  instance_ = "other";
  ASSERT_TRUE(listed(&workers).ok());
  EXPECT_EQ(workers.workers_size(), 1);
  server->Shutdown();
}

// The description is what the worker once said; who it is stands in columns of its own.
TEST_F(WorkerServiceTest, TheListNamesOperatorsAsTheyAreKnown) {
  index::WorkerRecord record;
  record.name = "w1";
  record.operatorName = "ours";
  v1::WorkerDescription said;
  said.set_operator_("theirs");
  record.description = said.SerializeAsString();
  record.lastContact = clock_.now();
  ASSERT_TRUE(
      *pool_.transact([&](postgres::Connection& c) { return index::upsertWorker(c, record, TimePoint()); }));
  v1::ListWorkersResponse workers;
  ASSERT_TRUE(listed(&workers).ok());
  ASSERT_EQ(workers.workers_size(), 1);
  EXPECT_EQ(workers.workers(0).description().name(), "w1");
  EXPECT_EQ(workers.workers(0).description().operator_(), "ours");
}

TEST_F(WorkerServiceTest, TheListSaysWhatTheDatabaseSays) {
  auto one = worker("w1");
  v1::ListWorkersResponse workers;
  pool_.holdBack({Code::kUnavailable, "the database is being restored"});
  const grpc::Status away = listed(&workers);
  EXPECT_EQ(away.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(away.error_message().find("being restored"), std::string::npos) << away.error_message();
  pool_.admit();
  ASSERT_TRUE(pool_.execute("ALTER TABLE runs RENAME TO lost"));
  EXPECT_FALSE(listed(&workers).ok());
}

}  // namespace
}  // namespace kiln::service
