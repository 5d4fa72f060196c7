// Real workers, sandbox and all: one is killed in the middle of a compile. It costs one lease time and
// nothing else.
#include "tests/fault/worker_processes.h"

namespace kiln::fault {
namespace {

using std::chrono::duration;
using std::chrono::seconds;

constexpr int kLease = 3;
constexpr int kLongLease = 10;  // well above a worker's longest wait between two tries, 3 s

const v1::JobAction* compileOf(const v1::Job& job) {
  for (const auto& action : job.actions())
    if (action.kind() == v1::ACTION_COMPILE) return &action;
  return nullptr;
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
                 "a.outcome = 'lost' AND a.worker = '" +
                 victim + "'"),
      1);
  EXPECT_EQ(farm.count("statements"), 3);
}

// The coordinator goes away while a worker compiles: the worker carries on, and its result is taken
// afterwards.
TEST(WorkerCrash, ACoordinatorRestartInterruptsNoCompile) {
  testing_support::PostgresServer postgres;
  FarmProcesses farm(postgres);
  farm.startCoordinator("", kLongLease);
  ASSERT_TRUE(farm.ready()) << farm.log();
  ASSERT_TRUE(farm.addToolchain(readFile(KILN_BIN "/kiln-slow-cc")));
  Workers workers(farm);
  ASSERT_TRUE(workers.registered());
  v1::Job job;
  ASSERT_TRUE(farm.submit(farm.request("k", 2), &job).ok());
  const std::string id = job.id();
  // Both: a lease whose answer is lost with the coordinator is one that no worker knows of, and is given
  // anew.
  ASSERT_TRUE(eventually([&] { return farm.count("runs WHERE kind = 3 AND stage = 'codegen'") == 2; }))
      << farm.log();
  farm.coordinator_->kill();
  farm.startCoordinator("", kLongLease);
  ASSERT_TRUE(eventually([&] { return ended(job = farm.get(id)); })) << farm.log();
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  EXPECT_EQ(job.artifacts(0).builders_size(), 2);
  EXPECT_EQ(
      farm.count("attempts a JOIN runs r ON r.instance = a.instance AND r.id = a.run_id WHERE r.kind = 3"), 2)
      << "each compile was run once";
}

}  // namespace
}  // namespace kiln::fault
