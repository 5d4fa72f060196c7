// Deadlines and budgets of jobs, and what earlier runs say of both.
#include "google/rpc/status.pb.h"
#include "storage/index/jobs/job_repository.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;
using std::chrono::seconds;

class JobBounds : public FarmTest {
 protected:
  JobBounds() {
    EXPECT_TRUE(addToolchain(putToolchain()).ok());
    one_ = worker("w1");
  }
  v1::SubmitJobRequest bounded(const std::string& key, const DeliverySpec& delivery) {
    v1::SubmitJobRequest out = request(key);
    out.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    return out;
  }
  // The error that a refused submission carries.
  v1::JobError refusalOf(const v1::SubmitJobRequest& request) {
    v1::Job job;
    const grpc::Status status = submit(request, &job);
    EXPECT_FALSE(status.ok());
    google::rpc::Status rich;
    v1::JobError error;
    EXPECT_TRUE(rich.ParseFromString(status.error_details()));
    if (rich.details_size() == 1) rich.details(0).UnpackTo(&error);
    return error;
  }
  // Its reference and its compile take 20 seconds each.
  void builtOnce() {
    const v1::Job job = submitted(request("first"));
    const auto leases = one_->poll();
    ASSERT_EQ(leases.size(), 2u);
    clock_.advance(seconds(20));
    ASSERT_TRUE(one_->synchronize({*one_->run(leases[0]), *one_->run(leases[1])}));
    ASSERT_TRUE(advance(job.id()));
    ASSERT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();
  }
  static DeliverySpec again() {
    DeliverySpec out;
    out.noCache = true;
    return out;
  }
  std::unique_ptr<testing_support::FakeWorker> one_;
};

TEST_F(JobBounds, AJobThatIsNotDoneByItsDeadlineEndsWithSeven) {
  DeliverySpec delivery;
  delivery.deadlineSeconds = 60;
  const v1::Job job = submitted(bounded("k", delivery));
  const auto leases = one_->poll();
  ASSERT_EQ(leases.size(), 2u);
  for (const auto& lease : leases)
    EXPECT_EQ(lease.time_limit().seconds(), 60) << "its worker ends it by itself";
  clock_.advance(seconds(59));
  ASSERT_TRUE(advance(job.id()));
  EXPECT_EQ(get(job.id()).state(), v1::JOB_RUNNING);
  auto connection = pool_.acquire().value();
  EXPECT_TRUE(index::listOverdueJobs(*connection, clock_.now(), 9)->empty());
  clock_.advance(seconds(1));
  EXPECT_EQ(index::listOverdueJobs(*connection, clock_.now(), 9)->size(), 1u) << "the driver is told";
  ASSERT_TRUE(advance(job.id()));
  const v1::Job ended = get(job.id());
  EXPECT_EQ(ended.state(), v1::JOB_FAILED);
  EXPECT_EQ(ended.error().exit_code(), 7);
  EXPECT_EQ(ended.error().code(), static_cast<int>(Code::kDeadlineExceeded));
  EXPECT_NE(ended.error().message().find("by its deadline"), std::string::npos) << ended.error().message();
  EXPECT_TRUE(index::listOverdueJobs(*connection, clock_.now(), 9)->empty());
  const auto response = one_->synchronize({*one_->run(leases[0])});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->forget_size(), 1);
  EXPECT_TRUE(pool_.execute("SELECT FROM fleet WHERE bad_ends > 0")->empty()) << "that is nobody's fault";
}

TEST_F(JobBounds, AJobThatIsDoneInTimeIsDone) {
  DeliverySpec delivery;
  delivery.deadline = clock_.now() + seconds(60);
  const v1::Job job = submitted(bounded("k", delivery));
  settle(job.id(), {one_.get()});
  clock_.advance(seconds(100));
  ASSERT_TRUE(advance(job.id()));
  EXPECT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED);
}

TEST_F(JobBounds, ADeadlineThatHasPassedIsAMistake) {
  DeliverySpec delivery;
  delivery.deadline = clock_.now() - seconds(1);
  const v1::JobError error = refusalOf(bounded("k", delivery));
  EXPECT_EQ(error.exit_code(), 2);
  EXPECT_NE(error.message().find("by the coordinator's clock"), std::string::npos) << error.message();
}

TEST_F(JobBounds, ADeadlineThatCannotBeMetIsRefused) {
  DeliverySpec delivery = again();
  delivery.deadlineSeconds = 19;
  submitted(bounded("unknown", delivery));  // of which nothing is known
  ASSERT_TRUE(pool_.execute("UPDATE jobs SET state = 6"));
  ASSERT_TRUE(pool_.execute("UPDATE runs SET state = 4"));
  builtOnce();
  const v1::JobError error = refusalOf(bounded("k1", delivery));
  EXPECT_EQ(error.exit_code(), 4);
  EXPECT_NE(error.message().find("take 20 s at least, and 19 are left"), std::string::npos)
      << error.message();
  delivery.deadlineSeconds = 20;
  submitted(bounded("k2", delivery));
}

TEST_F(JobBounds, AJobBeyondItsBudgetIsRefusedWithTheEstimate) {
  DeliverySpec delivery = again();
  delivery.maxWorkerSeconds = 39;
  builtOnce();
  const v1::JobError error = refusalOf(bounded("k1", delivery));
  EXPECT_EQ(error.exit_code(), 4);
  EXPECT_NE(error.message().find("40 seconds of workers, more than the 39"), std::string::npos)
      << error.message();
  EXPECT_NE(error.message().find("compile for cpu:x86-64-v3 1 x 20 s after 1 earlier run"), std::string::npos)
      << error.message();
  EXPECT_NE(error.details_json().find("\"estimatedSeconds\":40"), std::string::npos) << error.details_json();
  delivery.maxWorkerSeconds = 40;
  submitted(bounded("k2", delivery));
  v1::SubmitJobRequest other = request("k3", 1, "another model");
  delivery.maxWorkerSeconds = 1;
  other.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
  submitted(other);  // of which nothing is known
}

TEST_F(JobBounds, SoIsOneBeyondItsInstancesQuota) {
  builtOnce();
  farm_.leasing.quotas->replace(
      quota::QuotaRules::parse(
          R"({"apiVersion": "kiln/v1", "kind": "Quotas", "default": {"workerSecondsPerJob": 39}})")
          .value());
  const v1::JobError error = refusalOf(bounded("k1", again()));
  EXPECT_EQ(error.exit_code(), 4);
  EXPECT_NE(error.message().find("workerSecondsPerJob"), std::string::npos) << error.message();
  EXPECT_TRUE(submitted(request("k2")).artifacts(0).cached()) << "what is cached takes nothing";
}

}  // namespace
}  // namespace kiln::service
