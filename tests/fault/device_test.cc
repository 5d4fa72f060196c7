// Devices that fail under real workers: the device is drained, its check goes elsewhere, the worker lives on.
#include "tests/fault/worker_processes.h"

namespace kiln::fault {
namespace {

using std::chrono::seconds;

constexpr char kCuda[] = "cuda:sm_90a";

class DeviceFault : public ::testing::Test {
 protected:
  void SetUp() override {
    farm_.startCoordinator("", 5);
    ASSERT_TRUE(farm_.ready()) << farm_.log();
    ASSERT_TRUE(farm_.addToolchain(readFile(KILN_BIN "/kiln-slow-cc")));
  }
  // A worker with the two devices of the stub, whose checks go as `check` says.
  void start(const std::string& name, const std::string& check, const std::string& driver = "ok") {
    behave(name, driver);
    workers_.start(name, {"--gpu-driver", KILN_STUB_LIBRARY, "--checker", KILN_BIN "/kiln-fake-check"},
                   {"KILN_EMULATED_STUB=" + control(name), "KILN_EMULATED_CHECK=" + check});
    EXPECT_TRUE(workers_.registered()) << workers_.log(name);
  }
  std::string control(const std::string& name) { return farm_.directory_ / (name + ".driver"); }
  void behave(const std::string& name, const std::string& word) { std::ofstream(control(name)) << word; }

  v1::SubmitJobRequest request(const std::string& key, const char* target = kCuda,
                               std::uint32_t timeLimit = 600) {
    v1::SubmitJobRequest out = farm_.request(key);
    out.clear_targets();
    out.add_targets(target);
    DeliverySpec delivery;
    delivery.timeLimitSeconds = timeLimit;
    if (target == std::string(kCuda))
      delivery.check =
          CheckRequest{storage::putBlob(*farm_.blobs_, "default", asBytes("{}")).value(), {}, true};
    out.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    return out;
  }
  std::string submit(const v1::SubmitJobRequest& request) {
    v1::Job job;
    const grpc::Status status = farm_.submit(request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job.id();
  }
  v1::Job ended(const std::string& id) {
    v1::Job job;
    EXPECT_TRUE(eventually([&] { return fault::ended(job = farm_.get(id)); })) << farm_.log();
    return job;
  }
  // The worker as the farm sees it; one without a name while it does not.
  v1::WorkerDescription described(const std::string& name) {
    const v1::ListWorkersResponse fleet = workers_.list();
    for (const auto& worker : fleet.workers())
      if (worker.description().name() == name && !worker.lost()) return worker.description();
    return {};
  }
  // A device of it that is drained for a reason with these words.
  bool drained(const std::string& name, const std::string& words) {
    const v1::WorkerDescription worker = described(name);
    return std::ranges::any_of(worker.devices(), [&](const v1::Device& device) {
      return !device.healthy() && device.reason().find(words) != std::string::npos;
    });
  }
  int attempts(const std::string& outcome) {
    return farm_.count(
        "attempts a JOIN runs r ON r.instance = a.instance AND r.id = a.run_id WHERE r.kind = 4 AND "
        "a.outcome = '" +
        outcome + "'");
  }
  static std::string checkerOf(const v1::Job& job) {
    for (const auto& action : job.actions())
      if (action.kind() == v1::ACTION_CHECK && action.builders_size() > 0) return action.builders(0).worker();
    return "";
  }

  testing_support::PostgresServer postgres_;
  FarmProcesses farm_{postgres_};
  Workers workers_{farm_, {}};
};

TEST_F(DeviceFault, AGpuLostInTheMiddleOfACheckCostsThatAttemptAlone) {
  start("w1", "lost");
  const std::string id = submit(request("k"));
  ASSERT_TRUE(eventually([&] { return attempts("failed") == 1; })) << farm_.log() << workers_.log("w1");
  behave("w1", "full");  // so that it stays drained
  EXPECT_TRUE(eventually([&] { return drained("w1", "lost in the middle of a check: it fell off the bus"); }))
      << workers_.log("w1");
  start("w2", "");
  const v1::Job job = ended(id);
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  EXPECT_EQ(checkerOf(job), "w2");
  EXPECT_EQ(described("w1").name(), "w1") << "it lives on";
}

TEST_F(DeviceFault, ADeviceThatFailsItsHealthCheckGetsNoAction) {
  start("w1", "");
  const std::string id = submit(request("k"));
  behave("w1", "corrupt");
  ASSERT_TRUE(eventually([&] { return attempts("failed") >= 1; })) << farm_.log() << workers_.log("w1");
  EXPECT_TRUE(eventually([&] { return drained("w1", "came back changed"); })) << workers_.log("w1");
  start("w2", "");
  const v1::Job job = ended(id);
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  EXPECT_EQ(checkerOf(job), "w2");
}

TEST_F(DeviceFault, AKernelThatNeverEndsMeetsTheTimeLimitAndDrainsItsDevice) {
  start("w1", "hang");
  const v1::Job job = ended(submit(request("k", kCuda, 6)));
  EXPECT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_NE(job.error().message().find("time limit"), std::string::npos) << job.error().message();
  EXPECT_TRUE(workers_.log("w1").find("did not end within its time limit") != std::string::npos)
      << workers_.log("w1");
  // It answers, so it is healthy again after a while, and the worker has not ended.
  EXPECT_TRUE(eventually([&] {
    const v1::WorkerDescription worker = described("w1");
    return worker.devices_size() == 3 &&
           std::ranges::all_of(worker.devices(), [](const v1::Device& device) { return device.healthy(); });
  })) << workers_.log("w1");
}

TEST_F(DeviceFault, ADriverThatCrashesLeavesTheWorkerItsProcessor) {
  start("w1", "", "abort");
  const v1::WorkerDescription worker = described("w1");
  ASSERT_EQ(worker.devices_size(), 1);
  EXPECT_EQ(worker.devices(0).id(), "cpu");
  EXPECT_NE(worker.facts().at("gpu").find("crashed: signal 6"), std::string::npos)
      << worker.facts().at("gpu");
  const v1::Job job = ended(submit(request("k", "cpu:x86-64-v3")));
  EXPECT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  v1::Job refused;
  const grpc::Status status = farm_.submit(request("k2"), &refused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace kiln::fault
