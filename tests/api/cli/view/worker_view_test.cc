#include "api/cli/view/worker_view.h"

#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace kiln::cli {
namespace {

using Worker = v1::ListWorkersResponse::Worker;

Worker worker(const std::string& name, std::int64_t contact) {
  Worker out;
  auto& about = *out.mutable_description();
  about.set_name(name);
  about.set_operator_("op");
  about.set_slots(2);
  about.set_host_level("cpu:x86-64-v4");
  about.add_targets("cpu:x86-64-v3");
  about.add_targets("cuda:sm_90a");
  out.mutable_last_contact()->set_seconds(contact);
  return out;
}

void addCpu(Worker& worker) {
  v1::Device& device = *worker.mutable_description()->add_devices();
  device.set_id("cpu");
  device.set_kind("cpu");
  device.set_name("A Processor(R) 9000");
  device.set_arch("cpu:x86-64-v4");
  device.set_memory_bytes(64'000'000'000);
  device.set_healthy(true);
  device.add_runs("cpu:x86-64-v3");
  device.add_runs("cpu:x86-64-v4");
  device.set_sockets(2);
  device.set_cores(32);
  device.set_threads(64);
  v1::Cache& cache = *device.add_caches();
  cache.set_level(2);
  cache.set_kind("unified");
  cache.set_bytes(2 << 20);
}

v1::Device& addGpu(Worker& worker, const std::string& id, bool emulated) {
  v1::Device& device = *worker.mutable_description()->add_devices();
  device.set_id(id);
  device.set_kind("gpu");
  device.set_name(emulated ? "Kiln emulated device (test only)" : "NVIDIA H200");
  device.set_arch("sm_90");
  device.set_memory_bytes(emulated ? 1'000'000'000 : 150'000'000'000);
  device.set_driver("13.0");
  device.set_emulated(emulated);
  device.set_healthy(true);
  device.add_runs("cuda:sm_90a");
  return device;
}

void addLavapipe(Worker& worker) {
  v1::Device& device = addGpu(worker, "gpu1", false);
  device.set_name("llvmpipe (LLVM 15.0.6, 256 bits)");
  device.set_arch("vulkan1.3");
  device.set_driver("llvmpipe: Mesa 22.3.6 (LLVM 15.0.6)");
  device.set_api("vulkan");
  device.set_api_version("1.3.230");
  device.set_type("software");
  device.set_conformance("1.3.1.1");
  device.clear_runs();
  device.add_runs("vulkan:1.3");
}

std::vector<Worker> fleet() {
  std::vector<Worker> workers{worker("builder-1", 1'790'000'000), worker("gpu-node-7", 1'790'000'001),
                              worker("old", 1'789'990'000), worker("w9", 1'790'000'002),
                              worker("w10", 1'790'000'002)};
  workers[0].add_running("ab");
  addCpu(workers[0]);
  addCpu(workers[1]);
  addGpu(workers[1], "gpu0", false);
  v1::Device& lost = addGpu(workers[1], "gpu1", false);
  lost.set_healthy(false);
  lost.set_reason("its health check failed: the driver does not list it any more");
  workers[2].set_lost(true);
  addGpu(workers[2], "gpu0", false);
  workers[3].set_draining(true);
  addGpu(workers[3], "gpu0", true);
  addLavapipe(workers[3]);
  workers[4].mutable_held_back_until()->set_seconds(1'790'000'060);
  return workers;
}

std::string printed(const std::vector<Worker>& workers) {
  testing::internal::CaptureStdout();
  printWorkers(workers);
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

TEST(WorkerView, TextIsAlignedAndShowsEveryDevice) {
  testing_support::expectGolden(KILN_GOLDEN "/cli/workers.txt", printed(fleet()));
}

TEST(WorkerView, JsonShowsTheSame) {
  testing_support::expectGolden(KILN_GOLDEN "/cli/workers.json", workersJson(fleet()).dump(2) + "\n");
}

TEST(WorkerView, WorkersOfAnEarlierReleaseHaveNoTableOfDevices) {
  EXPECT_EQ(printed({worker("w1", 1'790'000'000)}),
            "WORKER  OPERATOR  STATE  RUNS  LAST CONTACT\n"
            "w1      op        live   0/2   2026-09-21T14:13:20Z\n"
            "\n"
            "COMPILES FOR                  WORKERS\n"
            "cpu: x86-64-v3; cuda: sm_90a  w1\n");
}

TEST(WorkerView, WhereThereAreNoWorkersNoOtherTableStands) {
  EXPECT_EQ(printed({}), "WORKER  OPERATOR  STATE  RUNS  LAST CONTACT\n");
}

// Families in the order of their first target; a target need not name one.
TEST(WorkerView, TargetsAreShownByFamily) {
  const auto compilingFor = [](const std::vector<std::string>& targets) {
    Worker one = worker("w1", 1'790'000'000);
    one.mutable_description()->clear_targets();
    for (const std::string& target : targets) one.mutable_description()->add_targets(target);
    const std::string text = printed({one});
    const auto line = text.find('\n', text.find("COMPILES FOR")) + 1;
    return text.substr(line, text.find("  w1", line) - line);
  };
  EXPECT_EQ(compilingFor({"cuda:sm_90a", "cpu:x86-64-v3", "cuda:sm_80", "cpu:x86-64-v4"}),
            "cuda: sm_90a, sm_80; cpu: x86-64-v3, x86-64-v4");
  EXPECT_EQ(compilingFor({"portable:", "abacus"}), "portable; abacus");
  EXPECT_EQ(compilingFor({}), "-           ");
}

}  // namespace
}  // namespace kiln::cli
