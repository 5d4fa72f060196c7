// Real workers, sandbox and all: one is killed in the middle of a compile. It costs one lease time and
// nothing else.
#include <fstream>

#include "kiln/v1/worker.grpc.pb.h"
#include "tests/fault/farm_processes.h"

namespace kiln::fault {
namespace {

using std::chrono::duration;
using std::chrono::seconds;

constexpr int kLease = 3;

class Workers {
 public:
  explicit Workers(FarmProcesses& farm) : farm_(farm) {
    for (const char* name : {"w1", "w2"}) start(name);
  }
  void start(const std::string& name) {
    std::string prefix = farm_.directory_ / name;
    signing::PrivateKey key = signing::PrivateKey::create().value();
    auto certificate = farm_.authority_.issue(name, "op", key.publicKey(), farm_.clock_.now()).value();
    std::ofstream(prefix + ".pem") << certificate.pem();
    EXPECT_TRUE(key.save(prefix + ".key"));
    running_[name] = std::make_unique<ChildProcess>(
        std::vector<std::string>{KILN_BIN "/kiln-worker", "--coordinator", farm_.endpoint(), "--certificate",
                                 prefix + ".pem", "--key", prefix + ".key", "--state", prefix + ".state",
                                 "--slots", "2"},
        prefix + ".log", std::vector<std::string>{}, true);
  }
  bool registered() {
    return eventually([&] {
      grpc::ClientContext context;
      v1::ListWorkersRequest request;
      request.set_instance("default");
      v1::ListWorkersResponse response;
      auto stub = v1::FleetService::NewStub(farm_.channel_);
      return stub->ListWorkers(&context, request, &response).ok() && response.workers_size() == 2;
    });
  }
  void kill(const std::string& name) { running_.at(name)->kill(); }
  std::string log(const std::string& name) {
    std::ifstream file(farm_.directory_ / (name + ".log"));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  FarmProcesses& farm_;
  std::map<std::string, std::unique_ptr<ChildProcess>> running_;
};

std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const v1::JobAction* compileOf(const v1::Job& job) {
  for (const auto& action : job.actions())
    if (action.kind() == v1::ACTION_COMPILE) return &action;
  return nullptr;
}

bool ended(const v1::Job& job) {
  return job.state() == v1::JOB_SUCCEEDED || job.state() == v1::JOB_FAILED;
}

TEST(WorkerCrash, CostsOneLeaseTimeAndNothingElse) {
  testing_support::PostgresServer postgres;
  FarmProcesses farm(postgres);
  farm.startCoordinator("", kLease);
  ASSERT_TRUE(farm.ready()) << farm.log();
  ASSERT_TRUE(farm.addToolchain(readFile(KILN_BIN "/kiln-slow-cc")));
  Workers workers(farm);
  ASSERT_TRUE(workers.registered()) << workers.log("w1");

  v1::Job job;
  grpc::Status status = farm.submit(farm.request("k"), &job);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const std::string id = job.id();
  ASSERT_TRUE(eventually([&] {
    job = farm.get(id);
    const v1::JobAction* compile = compileOf(job);
    return compile && compile->stage() == "codegen";
  })) << farm.log();
  std::string victim = compileOf(job)->worker();
  auto killed = std::chrono::steady_clock::now();
  workers.kill(victim);

  ASSERT_TRUE(eventually([&] {
    job = farm.get(id);
    const v1::JobAction* compile = compileOf(job);
    return compile && compile->attempt() == 2;
  })) << farm.log();
  double waited = duration<double>(std::chrono::steady_clock::now() - killed).count();
  // A bound that a busy machine keeps too: without expiry the job would not end at all.
  EXPECT_LT(waited, 10 * kLease) << "one lease time, and at most one sweep";
  ASSERT_TRUE(eventually([&] { return ended(job = farm.get(id)); })) << farm.log();
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  std::string survivor = victim == "w1" ? "w2" : "w1";
  ASSERT_EQ(job.artifacts(0).builders_size(), 1);
  EXPECT_EQ(job.artifacts(0).builders(0), survivor);
  EXPECT_EQ(
      farm.count("attempts a JOIN runs r ON r.instance = a.instance AND r.id = a.run_id WHERE r.kind = 3 AND "
                 "a.outcome = 'lost'"),
      1);
  EXPECT_EQ(farm.count("statements"), 1);
}

// The coordinator goes away while a worker compiles: the worker carries on, and its result is taken
// afterwards.
TEST(WorkerCrash, ACoordinatorRestartInterruptsNoCompile) {
  testing_support::PostgresServer postgres;
  FarmProcesses farm(postgres);
  farm.startCoordinator("", kLease);
  ASSERT_TRUE(farm.ready()) << farm.log();
  ASSERT_TRUE(farm.addToolchain(readFile(KILN_BIN "/kiln-slow-cc")));
  Workers workers(farm);
  ASSERT_TRUE(workers.registered());
  v1::Job job;
  ASSERT_TRUE(farm.submit(farm.request("k", 2), &job).ok());
  const std::string id = job.id();
  ASSERT_TRUE(eventually([&] {
    job = farm.get(id);
    const v1::JobAction* compile = compileOf(job);
    return compile && compile->stage() == "codegen";
  })) << farm.log();
  farm.coordinator_->kill();
  farm.startCoordinator("", kLease);
  ASSERT_TRUE(eventually([&] { return ended(job = farm.get(id)); })) << farm.log();
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  EXPECT_EQ(job.artifacts(0).builders_size(), 2);
  EXPECT_EQ(
      farm.count("attempts a JOIN runs r ON r.instance = a.instance AND r.id = a.run_id WHERE r.kind = 3"), 2)
      << "each compile was run once";
}

}  // namespace
}  // namespace kiln::fault
