// The coordinator is killed (SIGKILL) at each point between two durable states of a job; the next one goes
// on, and there is exactly one artifact, one statement and one signature. PostgreSQL and the signer go away
// and come back.
#include <filesystem>

#include "coordinator/farm/observers.h"
#include "signing/log/log_proof.h"
#include "tests/fault/farm_processes.h"
#include "tests/support/fake_worker.h"

namespace kiln::fault {
namespace {

using testing_support::FakeWorker;

std::unique_ptr<FakeWorker> workerOf(FarmProcesses& farm, const std::string& name) {
  return std::make_unique<FakeWorker>(farm.channel_, *farm.blobs_, farm.authority_, farm.directory_.path(),
                                      name, "op", farm.clock_.now());
}

// A worker whose reports may be lost: what it has finished it reports again, as the real one does.
class StubbornWorker {
 public:
  explicit StubbornWorker(std::unique_ptr<FakeWorker> worker) : worker_(std::move(worker)) {}

  void step() {
    auto response = worker_->synchronize(reports_);
    if (!response) return;
    for (const std::string& forgotten : response->forget())
      std::erase_if(reports_, [&](const v1::LeaseReport& report) { return report.lease_id() == forgotten; });
    for (const v1::Lease& lease : response->run()) {
      bool known = std::any_of(reports_.begin(), reports_.end(), [&](const v1::LeaseReport& report) {
        return report.lease_id() == lease.id();
      });
      if (known) continue;
      if (auto report = worker_->run(lease)) reports_.push_back(*report);
    }
  }

 private:
  std::unique_ptr<FakeWorker> worker_;
  std::vector<v1::LeaseReport> reports_;
};

class CrashPoint : public ::testing::TestWithParam<std::string_view> {};

TEST_P(CrashPoint, TheNextCoordinatorFinishesTheJobOnce) {
  FarmProcesses farm(testing_support::PostgresServer::shared());
  farm.startCoordinator(std::string(GetParam()));
  ASSERT_TRUE(farm.ready()) << farm.log();
  farm.addToolchain();
  StubbornWorker worker(workerOf(farm, "w1"));
  worker.step();

  v1::SubmitJobRequest request = farm.request("once");
  v1::Job job;
  (void)farm.submit(request, &job);  // may be lost: the process dies before it answers
  ASSERT_TRUE(eventually([&] {
    if (farm.coordinator_->running()) worker.step();
    return !farm.coordinator_->running();
  })) << farm.log();
  EXPECT_EQ(farm.coordinator_->wait(), 128 + SIGKILL);

  farm.coordinator_.reset();
  // The worker keeps its reports and its channel over the restart.
  farm.startCoordinator();
  ASSERT_TRUE(farm.ready()) << farm.log();
  v1::Job again;
  grpc::Status status = farm.submit(request, &again);
  ASSERT_TRUE(status.ok()) << status.error_message();
  if (!job.id().empty()) EXPECT_EQ(again.id(), job.id()) << "the key still names the first job";
  ASSERT_TRUE(eventually([&] {
    worker.step();
    job = farm.get(again.id());
    return job.state() == v1::JOB_SUCCEEDED || job.state() == v1::JOB_FAILED;
  })) << farm.log();
  EXPECT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  EXPECT_EQ(farm.count("jobs"), 1);
  EXPECT_EQ(farm.count("artifacts"), 1);
  EXPECT_EQ(farm.count("statements"), 3);
  EXPECT_EQ(farm.count("signatures"), 4) << "nothing is signed twice: the toolchain's admission, the "
                                            "artifact's provenance, compile and image statement";
  farm.coordinator_->signal(SIGTERM);
  EXPECT_EQ(farm.coordinator_->wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Points, CrashPoint,
                         ::testing::Values(service::kPointSubmitted, service::kPointResultStored,
                                           service::kPointAssembled, service::kPointSigned,
                                           service::kPointBundleStored, service::kPointPublished,
                                           service::kPointEnded),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::erase(name, '-');
                           return name;
                         });

// Killed while the artifact is signed and no checkpoint covers it: nothing is released that is not logged,
// and nothing is signed or logged twice.
TEST(AttackCases, Case23KilledBetweenSignatureAndLogNothingIsReleasedUnlogged) {
  FarmProcesses farm(testing_support::PostgresServer::shared());
  farm.startCoordinator();
  ASSERT_TRUE(farm.ready()) << farm.log();
  farm.addToolchain();
  StubbornWorker worker(workerOf(farm, "w1"));
  worker.step();
  farm.log_.reset();
  v1::Job job;
  ASSERT_TRUE(farm.submit(farm.request("unlogged"), &job).ok());
  ASSERT_TRUE(eventually([&] {
    worker.step();
    return farm.count("signatures") == 3;
  })) << farm.log();
  EXPECT_EQ(farm.count("artifacts"), 0);
  EXPECT_EQ(farm.count("signatures WHERE tree_size IS NULL"), 2);
  farm.coordinator_->kill();
  farm.coordinator_.reset();
  farm.startCoordinator();
  ASSERT_TRUE(farm.ready()) << farm.log();
  EXPECT_EQ(farm.count("artifacts"), 0) << "still unlogged, still unpublished";
  farm.startLog();
  ASSERT_TRUE(eventually([&] {
    worker.step();
    return farm.get(job.id()).state() == v1::JOB_SUCCEEDED;
  })) << farm.log();
  EXPECT_EQ(farm.count("artifacts"), 1);
  EXPECT_EQ(farm.count("signatures"), 4);
  EXPECT_EQ(farm.count("signatures WHERE tree_size IS NULL"), 0);
  const signing::Bundle bundle = farm.bundleOf(farm.get(job.id()).artifacts(0).digest());
  EXPECT_TRUE(signing::checkLogEntry(bundle, farm.key_.publicKey(), std::array{farm.logKey()}, {}));
}

TEST(Outage, PostgresAwayInMidJobIsSaidAndRecoversByItself) {
  testing_support::PostgresServer postgres;
  FarmProcesses farm(postgres);
  farm.startCoordinator();
  ASSERT_TRUE(farm.ready()) << farm.log();
  farm.addToolchain();
  auto worker = workerOf(farm, "w1");
  ASSERT_TRUE(worker->synchronize({}));
  v1::Job job;
  ASSERT_TRUE(farm.submit(farm.request("k"), &job).ok());
  auto leases = worker->poll();
  ASSERT_EQ(leases.size(), 2u);

  postgres.stop();
  grpc::Status status = farm.list();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_FALSE(status.error_message().empty());
  EXPECT_EQ(worker->synchronize({FakeWorker::running(leases[0], "codegen")}).error().code,
            Code::kUnavailable);
  std::vector<v1::LeaseReport> reports{*worker->run(leases[0]), *worker->run(leases[1])};
  EXPECT_EQ(worker->synchronize(reports).error().code, Code::kUnavailable)
      << "nothing is taken that cannot be stored";
  EXPECT_TRUE(farm.coordinator_->running());

  postgres.start();
  ASSERT_TRUE(farm.ready()) << farm.log();
  auto response = worker->synchronize(reports);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->forget_size(), 2);
  EXPECT_TRUE(eventually([&] { return farm.get(job.id()).state() == v1::JOB_SUCCEEDED; })) << farm.log();
}

TEST(Outage, PostgresAwayAtTheStartIsWaitedFor) {
  testing_support::PostgresServer postgres;
  FarmProcesses farm(postgres);
  postgres.stop();
  farm.startCoordinator();
  ASSERT_TRUE(eventually([&] { return farm.log().find("waiting for the database") != std::string::npos; }));
  ASSERT_TRUE(eventually([&] { return farm.list().error_code() == grpc::StatusCode::UNAVAILABLE; }));
  EXPECT_TRUE(farm.coordinator_->running());
  postgres.start();
  EXPECT_TRUE(farm.ready()) << farm.log();
}

// The server is there, a migration holds up the schema: nobody sees half of it.
TEST(Outage, CallsBeforeTheSchemaIsReadyAreUnavailableAndSaySo) {
  testing_support::PostgresServer postgres;
  FarmProcesses farm(postgres);
  auto connection = postgres::Connection::open({.conninfo = farm.database_});
  ASSERT_TRUE(connection);
  // The lock that migrations take.
  ASSERT_TRUE(connection->execute("SELECT pg_advisory_lock(1802071150::bigint)"));
  farm.startCoordinator();
  for (int call = 0; call < 3; ++call) {
    grpc::Status status = farm.list(true);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_NE(status.error_message().find("not ready yet"), std::string::npos) << status.error_message();
  }
  auto worker = workerOf(farm, "w1");
  EXPECT_EQ(worker->synchronize({}).error().code, Code::kUnavailable);
  EXPECT_EQ(farm.log().find("serving"), std::string::npos);
  ASSERT_TRUE(connection->execute("SELECT pg_advisory_unlock(1802071150::bigint)"));
  EXPECT_TRUE(farm.ready()) << farm.log();
  EXPECT_TRUE(worker->synchronize({}));
}

TEST(Outage, AStopWhileWaitingForPostgresIsClean) {
  testing_support::PostgresServer postgres;
  FarmProcesses farm(postgres);
  postgres.stop();
  farm.startCoordinator();
  ASSERT_TRUE(eventually([&] { return farm.log().find("waiting for the database") != std::string::npos; }));
  farm.coordinator_->signal(SIGTERM);
  EXPECT_EQ(farm.coordinator_->wait(), 0);
}

TEST(Outage, TheSignerAwayHoldsTheJobUntilItIsBack) {
  testing_support::PostgresServer postgres;
  FarmProcesses farm(postgres);
  farm.startCoordinator();
  ASSERT_TRUE(farm.ready()) << farm.log();
  farm.addToolchain();
  auto worker = workerOf(farm, "w1");
  ASSERT_TRUE(worker->synchronize({}));
  farm.signer_->kill();
  v1::Job job;
  ASSERT_TRUE(farm.submit(farm.request("k"), &job).ok());
  ASSERT_TRUE(worker->work());
  EXPECT_TRUE(eventually([&] { return farm.log().find("job held up") != std::string::npos; })) << farm.log();
  EXPECT_EQ(farm.get(job.id()).state(), v1::JOB_PUBLISHING);
  farm.startSigner();
  EXPECT_TRUE(eventually([&] { return farm.get(job.id()).state() == v1::JOB_SUCCEEDED; })) << farm.log();
  EXPECT_EQ(farm.count("statements"), 3);
}

}  // namespace
}  // namespace kiln::fault
