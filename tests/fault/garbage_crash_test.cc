// The coordinator is killed (SIGKILL) at each point of a collection of garbage. Nothing reachable is lost,
// and the next one finishes.
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "coordinator/farm/observers.h"
#include "kiln/v1/maintenance.grpc.pb.h"
#include "manifest/spec/delivery_spec.h"
#include "storage/blob/sweep.h"
#include "storage/tree/tree_walk.h"
#include "tests/fault/farm_processes.h"
#include "tests/support/fake_worker.h"

namespace kiln::fault {
namespace {

using testing_support::FakeWorker;

class GarbageCrash : public ::testing::TestWithParam<std::string_view> {
 protected:
  grpc::Status collect(v1::CollectGarbageResponse* out) {
    v1::CollectGarbageRequest request;
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    return v1::MaintenanceService::NewStub(farm.channel_)->CollectGarbage(&context, request, out);
  }
  // Everything in the store was last touched a month ago.
  void age() {
    const timespec month{
        std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()) - 30 * 24 * 3600, 0};
    const timespec times[2] = {month, month};
    for (const char* part : {"refs", "blobs"})
      for (const auto& entry :
           std::filesystem::recursive_directory_iterator(farm.directory_ / ("store/" + std::string(part))))
        if (entry.is_regular_file())
          ASSERT_EQ(::utimensat(AT_FDCWD, entry.path().c_str(), times, 0), 0) << entry.path();
  }
  v1::Job build(FakeWorker& worker, const std::string& key, bool noCache) {
    v1::SubmitJobRequest request =
        testing_support::sampleRequest(key, 1, digestOf(std::string_view("a model")));
    DeliverySpec delivery;
    delivery.noCache = noCache;
    request.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    v1::Job job;
    grpc::Status status = farm.submit(request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    const std::string id = job.id();
    EXPECT_TRUE(eventually([&] {
      (void)worker.work();
      job = farm.get(id);
      return job.state() == v1::JOB_SUCCEEDED || job.state() == v1::JOB_FAILED;
    })) << farm.log();
    return job;
  }

  FarmProcesses farm{testing_support::PostgresServer::shared()};
};

TEST_P(GarbageCrash, NothingReachableIsLost) {
  farm.startCoordinator(std::string(GetParam()));
  ASSERT_TRUE(farm.ready()) << farm.log();
  farm.addToolchain();
  storage::putBlob(*farm.blobs_, "default", asBytes("a model")).value();
  FakeWorker worker(farm.channel_, *farm.blobs_, farm.authority_, farm.directory_.path(), "w1", "op",
                    farm.clock_.now());
  ASSERT_TRUE(worker.synchronize({}));
  v1::Job job = build(worker, "first", false);
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  std::vector<Digest> stray;
  for (int i = 0; i < 10; ++i)
    stray.push_back(storage::putBlob(*farm.blobs_, "default", asBytes("stray " + std::to_string(i))).value());
  age();
  v1::CollectGarbageResponse report;
  EXPECT_FALSE(collect(&report).ok());
  EXPECT_EQ(farm.coordinator_->wait(), 128 + SIGKILL);

  farm.coordinator_.reset();
  farm.startCoordinator();
  ASSERT_TRUE(farm.ready()) << farm.log();
  age();
  grpc::Status status = collect(&report);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(report.damaged_size(), 0);
  EXPECT_EQ(report.artifacts(), 1u);
  EXPECT_EQ(farm.blobs_->findMissing("default", stray)->size(), stray.size());
  ASSERT_TRUE(collect(&report).ok());
  EXPECT_EQ(report.removed_blobs(), 0u) << "the one before left nothing to do";

  // Nothing is uploaded again, and what is built is what was built.
  ASSERT_TRUE(eventually([&] { return worker.synchronize({}).has_value(); }));
  v1::Job again = build(worker, "again", true);
  ASSERT_EQ(again.state(), v1::JOB_SUCCEEDED) << again.error().message();
  EXPECT_EQ(again.artifacts(0).digest(), job.artifacts(0).digest());
}

INSTANTIATE_TEST_SUITE_P(Points, GarbageCrash,
                         ::testing::Values(service::kPointMarked, storage::kPointReferenceRemoved,
                                           storage::kPointBlobRemoved),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace kiln::fault
