// Devices of workers: what they may say of them, and which checks they get.
#include <fmt/format.h>

#include "manifest/artifact/manifest.h"
#include "manifest/json/json.h"
#include "manifest/statement/check_statement.h"
#include "manifest/tuning/record.h"
#include "tests/coordinator/farm/farm_fixture.h"
#include "tests/support/sample_spec.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::FakeWorker;
using testing_support::ToolOutcome;

constexpr char kCuda[] = "cuda:sm_90a", kVulkan[] = "vulkan:1.3";

v1::Device gpu(const std::string& id = "gpu0", bool emulated = false) {
  v1::Device device;
  device.set_id(id);
  device.set_kind("gpu");
  device.set_name(emulated ? "an emulated device" : "a GPU");
  device.set_arch("sm_90");
  device.set_memory_bytes(1 << 30);
  device.set_driver("13.0");
  device.set_emulated(emulated);
  device.set_healthy(true);
  device.add_runs(kCuda);
  return device;
}

class Devices : public FarmTest {
 protected:
  Devices() {
    toolchainTargets_ = {"cpu:x86-64-v3", kCuda, kVulkan};
    EXPECT_TRUE(addToolchain(putToolchain()).ok());
  }

  // It compiles for cuda:sm_90a and checks on `device`.
  std::unique_ptr<FakeWorker> checking(const std::string& name, const v1::Device& device) {
    auto out = worker(name);
    out->description.add_targets(kCuda);
    out->description.add_kinds(v1::ACTION_CHECK);
    *out->description.add_devices() = device;
    EXPECT_TRUE(out->synchronize({}));
    return out;
  }
  v1::SubmitJobRequest checked(const std::string& key, bool emulated, const char* target = kCuda) {
    v1::SubmitJobRequest out = request(key);
    out.clear_targets();
    out.add_targets(target);
    DeliverySpec delivery;
    delivery.check = CheckRequest{put("{}"), {}, emulated};
    out.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    return out;
  }
  v1::ListWorkersResponse fleet() {
    grpc::ClientContext context;
    v1::ListWorkersRequest request;
    request.set_instance("default");
    v1::ListWorkersResponse response;
    EXPECT_TRUE(fleetStub_->ListWorkers(&context, request, &response).ok());
    return response;
  }
  static const v1::JobAction* actionOf(const v1::Job& job, v1::ActionKind kind) {
    for (const auto& action : job.actions())
      if (action.kind() == kind) return &action;
    return nullptr;
  }
};

// Changes what reports say of their device.
std::function<void(const v1::Lease&, ToolOutcome&)> says(std::function<void(Json&)> change) {
  return [change = std::move(change)](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() != v1::ACTION_CHECK) return;
    Json report = parseCanonicalJson(outcome.files[kCheckReport]).value();
    change(report["device"]);
    outcome.files[kCheckReport] = toCanonicalJson(report).value();
  };
}

TEST_F(Devices, WhoIsHeldBackIsShownSoAndUntilWhen) {
  auto good = worker("w1"), bad = worker("w2");
  ASSERT_TRUE(good->synchronize({}));
  ASSERT_TRUE(bad->synchronize({}));
  const auto before = fleet();
  for (const auto& each : before.workers()) EXPECT_FALSE(each.has_held_back_until());
  for (int i = 0; i < queue::kFailuresBeforeBackoff; ++i)
    ASSERT_TRUE(pool_.transact([&](postgres::Connection& c) -> Result<bool> {
      KILN_TRY(queue::recordOutcome(c, "op", "w2", queue::LeaseOutcome::kBad, clock_.now()));
      return true;
    }));
  const auto now = fleet();
  ASSERT_EQ(now.workers_size(), 2);
  EXPECT_FALSE(now.workers(0).has_held_back_until());
  EXPECT_EQ(now.workers(1).description().name(), "w2");
  EXPECT_GT(now.workers(1).held_back_until().seconds(), now.workers(1).last_contact().seconds());
}

TEST_F(Devices, ACompileForAGpuGoesToAnyWorkerAndItsCheckToTheGpu) {
  auto plain = worker("w1");
  plain->description.add_targets(kCuda);
  auto withGpu = checking("w2", gpu());
  withGpu->description.clear_targets();
  ASSERT_TRUE(withGpu->synchronize({}));
  ASSERT_TRUE(plain->synchronize({}));
  std::vector<std::string> devices;
  withGpu->tamper = [&](const v1::Lease& lease, ToolOutcome&) {
    if (lease.kind() == v1::ACTION_CHECK) devices.assign(lease.devices().begin(), lease.devices().end());
  };
  v1::Job job = submitted(checked("k", false));
  EXPECT_EQ(actionOf(job, v1::ACTION_EMULATE), nullptr);
  settle(job.id(), {plain.get(), withGpu.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  EXPECT_EQ(job.artifacts(0).builders(0), "w1");
  EXPECT_EQ(actionOf(job, v1::ACTION_CHECK)->builders(0).worker(), "w2");
  EXPECT_EQ(devices, std::vector<std::string>{"gpu0"});
}

TEST_F(Devices, WhoHasUsedUpItsTimeOfGpusIsToComeAgain) {
  auto withGpu = checking("w1", gpu());
  withGpu->description.add_targets(kCuda);
  ASSERT_TRUE(withGpu->synchronize({}));
  farm_.leasing.quotas->replace(
      quota::QuotaRules::parse(
          R"({"apiVersion": "kiln/v1", "kind": "Quotas", "default": {"gpuMinutesPerDay": 0}})")
          .value());
  v1::Job job;
  const grpc::Status status = submit(checked("k", false), &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("gpuMinutesPerDay"), std::string::npos) << status.error_message();
}

TEST_F(Devices, AnEmulatedCheckGetsTheEmulationAndMustSayWhatItRanOn) {
  auto one = checking("w1", gpu("gpu0", true));
  v1::Job job = submitted(checked("k", true));
  ASSERT_NE(actionOf(job, v1::ACTION_EMULATE), nullptr);
  settle(job.id(), {one.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  const auto* check = actionOf(job, v1::ACTION_CHECK);
  ASSERT_NE(check, nullptr);
  reapi::Action action;
  ASSERT_TRUE(action.ParseFromString(
      storage::getBlob(*blobs_, "default", *fromProto(check->action()), 1 << 20).value()));
  reapi::Directory root;
  ASSERT_TRUE(root.ParseFromString(
      storage::getBlob(*blobs_, "default", *fromProto(action.input_root_digest()), 1 << 20).value()));
  ASSERT_EQ(root.directories_size(), 3);
  EXPECT_EQ(root.directories(1).name(), "emulation");
}

TEST_F(Devices, AReportThatContradictsTheLeasedDeviceIsRefusedSayingHow) {
  const auto failed = [&](const std::string& key, bool emulated, std::function<void(Json&)> change) {
    auto one = checking("w-" + key, gpu("gpu0", emulated));
    one->tamper = says(std::move(change));
    v1::Job job = submitted(checked(key, emulated));
    for (int i = 0; i < 4; ++i) {
      settle(job.id(), {one.get()});
      clock_.advance(std::chrono::minutes(1));
    }
    job = get(job.id());
    EXPECT_EQ(job.state(), v1::JOB_FAILED) << key;
    return job.error().message();
  };
  const auto expect = [&](const std::string& key, bool emulated, std::function<void(Json&)> change,
                          const std::string& part) {
    const std::string message = failed(key, emulated, std::move(change));
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect("real", true, [](Json& device) { device.erase("emulated"); }, "it does not say so");
  expect("none", false, [](Json& device) { device.erase("gpu"); }, "it names no GPU (device.gpu)");
  expect("form", false, [](Json& device) { device["gpu"] = "a GPU"; }, "report.device.gpu");
  expect(
      "name", false, [](Json& device) { device["gpu"]["name"] = "another"; },
      "it names the GPU \"another\", but the device leased, gpu0, is \"a GPU\"");
  expect(
      "sm", false, [](Json& device) { device["gpu"]["computeCapability"] = "8.0"; },
      "it states compute capability 8.0, but the device leased, gpu0, is sm_90");
  expect("fake", false, [](Json& device) { device["emulated"] = true; }, "of an emulated device, but");
}

// Mesa's driver on the processor.
v1::Device lavapipe() {
  v1::Device device = gpu();
  device.set_name("llvmpipe (LLVM 15.0.6, 256 bits)");
  device.set_arch("vulkan1.3");
  device.set_driver("llvmpipe: Mesa 22.3.6 (LLVM 15.0.6)");
  device.set_api("vulkan");
  device.set_api_version("1.3.230");
  device.set_type("software");
  device.set_conformance("1.3.1.1");
  device.clear_runs();
  device.add_runs(kVulkan);
  return device;
}

TEST_F(Devices, AVulkanDeviceIsCheckedOnAndNamedWithItsDriver) {
  auto one = checking("w1", lavapipe());
  one->description.add_targets(kVulkan);
  ASSERT_TRUE(one->synchronize({}));
  const v1::Job job = submitted(checked("k", false, kVulkan));
  settle(job.id(), {one.get()});
  ASSERT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();
  v1::Job refused;
  EXPECT_EQ(submit(checked("e", true, kVulkan), &refused).error_code(), grpc::StatusCode::UNIMPLEMENTED)
      << "a real driver is no emulated device";
}

TEST_F(Devices, ASearchMeasuresOnTheVulkanDeviceOfItsLeaseAndSaysSo) {
  const auto searching = [&](const std::string& key) {
    v1::SubmitJobRequest out = checked(key, false, kVulkan);
    DeliverySpec delivery;
    delivery.noCache = true;
    delivery.tuning = TuningRequest{.search = true, .budgetSeconds = 30};
    out.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    return out;
  };
  auto emulated = checking("w0", gpu("gpu0", true));
  emulated->description.add_targets(kVulkan);
  ASSERT_TRUE(emulated->synchronize({}));
  v1::Job refused;
  const grpc::Status none = submit(searching("none"), &refused);
  EXPECT_EQ(none.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_NE(none.error_message().find("no worker has a healthy device for the tune for vulkan:1.3"),
            std::string::npos)
      << none.error_message();

  std::vector<std::string> devices;
  std::function<void(Json&)> change = [](Json&) {};
  auto one = checking("w1", lavapipe());
  one->description.add_targets(kVulkan);
  ASSERT_TRUE(one->synchronize({}));
  one->tamper = [&](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() != v1::ACTION_TUNE) return;
    devices.assign(lease.devices().begin(), lease.devices().end());
    Json record = parseCanonicalJson(outcome.files[kTuningRecordFile]).value();
    change(record["device"]);
    outcome.files[kTuningRecordFile] = toCanonicalJson(record).value();
  };
  const auto ended = [&](const std::string& key) {
    const v1::Job job = submitted(searching(key));
    for (int i = 0; i < 4; ++i) {
      settle(job.id(), {one.get(), emulated.get()});
      clock_.advance(std::chrono::minutes(1));
    }
    return get(job.id());
  };
  const v1::Job good = ended("good");
  EXPECT_EQ(good.state(), v1::JOB_SUCCEEDED) << good.error().message();
  EXPECT_EQ(devices, std::vector<std::string>{"gpu0"});
  const auto expect = [&](const std::string& key, std::function<void(Json&)> how, const std::string& part) {
    change = std::move(how);
    const v1::Job job = ended(key);
    EXPECT_NE(job.error().message().find(part), std::string::npos) << key << ": " << job.error().message();
  };
  expect(
      "kind", [](Json& device) { device["kind"] = "emulated"; },
      "of a device of kind emulated, but one of kind vulkan was leased");
  expect(
      "name", [](Json& device) { device["name"] = "a GPU"; },
      "is of \"a GPU\", but the device leased, gpu0, is \"llvmpipe");
  expect(
      "driver", [](Json& device) { device["features"][1] = "driver radv"; },
      "does not name the feature \"driver llvmpipe: Mesa 22.3.6 (LLVM 15.0.6)\"");
}

TEST_F(Devices, WhereThereAreBothHardwareIsLeasedBeforeSoftware) {
  auto one = checking("w1", lavapipe());
  v1::Device hardware = lavapipe();
  hardware.set_id("gpu1");
  hardware.set_name("a GPU");
  hardware.set_type("discrete");
  *one->description.add_devices() = hardware;
  one->description.add_targets(kVulkan);
  ASSERT_TRUE(one->synchronize({}));
  std::vector<std::string> devices;
  one->tamper = [&](const v1::Lease& lease, ToolOutcome&) {
    if (lease.kind() == v1::ACTION_CHECK) devices.assign(lease.devices().begin(), lease.devices().end());
  };
  const v1::Job job = submitted(checked("k", false, kVulkan));
  settle(job.id(), {one.get()});
  EXPECT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();
  EXPECT_EQ(devices, std::vector<std::string>{"gpu1"});
}

TEST_F(Devices, AReportOfAnotherVulkanDeviceThanTheLeasedOneIsRefused) {
  int asked = 0;
  const auto expect = [&](const std::string& member, const Json& value, const std::string& part) {
    const std::string name = member + std::to_string(++asked);
    auto one = checking("w-" + name, lavapipe());
    one->description.add_targets(kVulkan);
    ASSERT_TRUE(one->synchronize({}));
    one->tamper = says([&](Json& device) { device["gpu"][member] = value; });
    const v1::Job job = submitted(checked(name, false, kVulkan));
    for (int i = 0; i < 4; ++i) {
      settle(job.id(), {one.get()});
      clock_.advance(std::chrono::minutes(1));
    }
    const std::string message = get(job.id()).error().message();
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect("type", "discrete",
         "it states the type \"discrete\", but the device leased, gpu0, has \"software\"");
  expect("driver", "radv", "it states the driver \"radv\"");
  expect("conformance", "1.3.9.9", "it states the conformance");
  expect("apiVersion", "1.2.3", "it states Vulkan 1.2.3, but the device leased, gpu0, is vulkan1.3");
  expect("apiVersion", "13", "it states Vulkan 13");
  expect("api", "metal", "report.device.gpu.api");
}

TEST_F(Devices, ACheckOfTheProcessorNamesNoGpu) {
  auto one = checking("w1", gpu());
  v1::Device cpu;
  cpu.set_id("cpu");
  cpu.set_kind("cpu");
  cpu.set_healthy(true);
  cpu.add_runs("cpu:x86-64-v3");
  *one->description.add_devices() = cpu;
  ASSERT_TRUE(one->synchronize({}));
  one->tamper = says([](Json& device) { device["gpu"] = {{"name", "a GPU"}, {"computeCapability", "9.0"}}; });
  const v1::Job job = submitted(checked("k", false, "cpu:x86-64-v3"));
  for (int i = 0; i < 4; ++i) {
    settle(job.id(), {one.get()});
    clock_.advance(std::chrono::minutes(1));
  }
  EXPECT_NE(get(job.id()).error().message().find("but the lease named none"), std::string::npos)
      << get(job.id()).error().message();
}

// What an emulating compile leaves whose program has nothing for the device.
std::map<std::string, std::string> nothingEmulated(const Manifest& manifest) {
  return {{"artifact/program.so", "p"},
          {"artifact/manifest.json", toCanonicalJson(manifest.toJson()).value()}};
}

TEST_F(Devices, ACheckLeavesItsReportAndAnEmulationSomethingForTheDevice) {
  const auto refused = [&](const std::string& key, v1::ActionKind kind,
                           std::map<std::string, std::string> left) {
    auto one = checking("w-" + key, gpu("gpu0", true));
    one->tamper = [&](const v1::Lease& lease, ToolOutcome& outcome) {
      if (lease.kind() == kind) outcome.files = left;
    };
    const v1::Job job = submitted(checked(key, true));
    for (int i = 0; i < 4; ++i) {
      settle(job.id(), {one.get()});
      clock_.advance(std::chrono::minutes(1));
    }
    EXPECT_EQ(get(job.id()).state(), v1::JOB_FAILED) << key;
    return get(job.id()).error().message();
  };
  const std::string noCode =
      refused("code", v1::ACTION_EMULATE, {{"artifact/program.so", "p"}, {"emulated", "x"}});
  EXPECT_NE(noCode.find("the outputs hold nothing for an emulated device"), std::string::npos) << noCode;
  const auto deviceManifest =
      makeManifest(testing_support::deviceSpec(), testing_support::deviceEvidence()).value();
  const std::string forgotten = refused("forgotten", v1::ACTION_EMULATE, nothingEmulated(deviceManifest));
  EXPECT_NE(forgotten.find("the outputs hold nothing for an emulated device"), std::string::npos)
      << forgotten;
  const std::string noReport = refused("report", v1::ACTION_CHECK, {{"log.txt", "passed"}});
  EXPECT_NE(noReport.find("the outputs lack " + std::string(kCheckReport)), std::string::npos) << noReport;
}

// A program for a GPU may have no kernel for one: then nothing is emulated, and nobody is to blame.
TEST_F(Devices, AProgramWithoutAKernelForTheDeviceIsCheckedAllTheSame) {
  const auto hostManifest =
      makeManifest(testing_support::sampleSpec(), testing_support::sampleEvidence()).value();
  auto host = checking("w-host", gpu("gpu0", true));
  host->tamper = [&](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() == v1::ACTION_EMULATE) outcome.files = nothingEmulated(hostManifest);
  };
  const v1::Job onHost = submitted(checked("host", true));
  settle(onHost.id(), {host.get()});
  EXPECT_EQ(get(onHost.id()).state(), v1::JOB_SUCCEEDED) << get(onHost.id()).error().message();
}

TEST_F(Devices, EmulationsAreMadeOnceAndReused) {
  auto one = checking("w1", gpu("gpu0", true));
  v1::Job first = submitted(checked("k1", true));
  settle(first.id(), {one.get()});
  ASSERT_EQ(get(first.id()).state(), v1::JOB_SUCCEEDED);
  v1::Job second = submitted(checked("k2", true));
  settle(second.id(), {one.get()});
  ASSERT_EQ(get(second.id()).state(), v1::JOB_SUCCEEDED);
  auto runs = pool_.execute("SELECT count(*) AS n FROM runs WHERE kind = 5");
  EXPECT_EQ((*runs)[0].get<int>("n"), 1);
}

TEST_F(Devices, ACheckThatNoDeviceCanMakeIsRefusedAtOnceSayingWhatIsMissing) {
  auto one = checking("w1", gpu("gpu0", true));
  v1::Job job;
  grpc::Status status = submit(checked("k1", false), &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_NE(status.error_message().find("no worker has a healthy device for the check for cuda:sm_90a"),
            std::string::npos)
      << status.error_message();
  EXPECT_NE(status.error_message().find("emulated ones cuda:sm_90a"), std::string::npos)
      << status.error_message();

  one->description.mutable_devices(0)->set_healthy(false);
  one->description.mutable_devices(0)->set_reason("it hangs");
  ASSERT_TRUE(one->synchronize({}));
  status = submit(checked("k2", true), &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << "it may come back";
  EXPECT_NE(status.error_message().find("no worker has a healthy emulated device"), std::string::npos);
  EXPECT_NE(status.error_message().find("device gpu0 of worker w1 is drained (it hangs)"), std::string::npos)
      << status.error_message();
}

TEST_F(Devices, OnlyWhatHasADeviceIsCheckedOnAnEmulatedOne) {
  auto one = checking("w1", gpu("gpu0", true));
  v1::Job job;
  const grpc::Status status = submit(checked("k", true, "cpu:x86-64-v3"), &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(Devices, AWorkerWithoutDevicesIsOneOfAnEarlierRelease) {
  auto old = worker("w1");
  old->description.add_kinds(v1::ACTION_CHECK);
  old->description.add_runs("cpu:x86-64-v3");
  ASSERT_TRUE(old->synchronize({}));
  v1::Job job = submitted(checked("k", false, "cpu:x86-64-v3"));
  settle(job.id(), {old.get()});
  EXPECT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();
}

TEST_F(Devices, TheFleetShowsThemWithTheirHealth) {
  auto one = checking("w1", gpu());
  one->description.mutable_devices(0)->set_healthy(false);
  one->description.mutable_devices(0)->set_reason("it fell off the bus");
  ASSERT_TRUE(one->synchronize({}));
  const auto response = fleet();
  ASSERT_EQ(response.workers_size(), 1);
  ASSERT_EQ(response.workers(0).description().devices_size(), 1);
  EXPECT_EQ(response.workers(0).description().devices(0).reason(), "it fell off the bus");
}

TEST_F(Devices, WhatAHostileWorkerSaysOfItsDevicesIsBounded) {
  auto one = worker("w1");
  const auto refused = [&](const std::function<void(v1::WorkerDescription&)>& change) {
    const v1::WorkerDescription before = one->description;
    change(one->description);
    auto answer = one->synchronize({});
    one->description = before;
    return !answer && answer.error().code == Code::kInvalidArgument;
  };
  const auto with = [&](const std::function<void(v1::Device&)>& change) {
    return refused([&](v1::WorkerDescription& description) {
      *description.add_devices() = gpu();
      change(*description.mutable_devices(0));
    });
  };
  EXPECT_FALSE(with([](v1::Device&) {}));
  EXPECT_TRUE(with([](v1::Device& device) { device.set_id("../../x"); }));
  EXPECT_TRUE(with([](v1::Device& device) { device.set_id(std::string(33, 'a')); }));
  EXPECT_TRUE(with([](v1::Device& device) { device.set_id(""); }));
  EXPECT_TRUE(with([](v1::Device& device) { device.set_kind("tpu"); }));
  EXPECT_TRUE(with([](v1::Device& device) { device.set_name("\x1b]0;owned\x07"); }));
  EXPECT_TRUE(with([](v1::Device& device) { device.set_name(std::string(257, 'a')); }));
  EXPECT_TRUE(with([](v1::Device& device) { device.set_reason(std::string(2000, 'a')); }));
  EXPECT_TRUE(with([](v1::Device& device) {
    for (int i = 0; i < 65; ++i) device.add_runs("cuda:sm_90a");
  }));
  EXPECT_TRUE(with([](v1::Device& device) { device.set_conformance(std::string(257, 'a')); }));
  EXPECT_TRUE(with([](v1::Device& device) { device.set_type("\x1b[31m"); }));
  EXPECT_TRUE(with([](v1::Device& device) { device.add_runs(kVulkan); })) << "CUDA's device runs no SPIR-V";
  EXPECT_TRUE(with([](v1::Device& device) { device.set_api("vulkan"); })) << "nor Vulkan's a cubin";
  EXPECT_TRUE(with([](v1::Device& device) { device.add_runs("cpu:x86-64-v3"); }));
  EXPECT_TRUE(with([](v1::Device& device) { device.set_kind("cpu"); })) << "a processor launches no kernels";
  EXPECT_TRUE(with([](v1::Device& device) {
    for (int i = 0; i < 17; ++i) device.add_caches();
  }));
  EXPECT_TRUE(refused([](v1::WorkerDescription& description) {
    for (int i = 0; i < 2; ++i) *description.add_devices() = gpu();
  })) << "two of one id";
  EXPECT_TRUE(refused([](v1::WorkerDescription& description) {
    for (int i = 0; i < 65; ++i) *description.add_devices() = gpu(fmt::format("gpu{}", i));
  }));
}

}  // namespace
}  // namespace kiln::service
