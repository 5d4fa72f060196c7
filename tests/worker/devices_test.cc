// Devices: found, tried out, held, lost.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "manifest/spec/target_device.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_directory.h"
#include "worker/devices/cpu.h"
#include "worker/devices/describe.h"
#include "worker/devices/driver_probe.h"
#include "worker/devices/driver_settings.h"
#include "worker/devices/registry.h"

namespace kiln::devices {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

// A machine of two sockets with two cores of two threads each.
void makeMachine(const std::string& root) {
  for (int i = 0; i < 8; ++i) {
    const std::string processor = root + "/sys/devices/system/cpu/cpu" + std::to_string(i);
    write(processor + "/topology/physical_package_id", std::to_string(i / 4) + "\n");
    write(processor + "/topology/core_id", std::to_string(i / 2 % 2) + "\n");
    int index = 0;
    for (const auto& [level, type, size] :
         {std::tuple("1", "Data", "48K"), {"1", "Instruction", "32K"}, {"3", "Unified", "36M"}}) {
      const std::string cache = processor + "/cache/index" + std::to_string(index++);
      write(cache + "/level", std::string(level) + "\n");
      write(cache + "/type", std::string(type) + "\n");
      write(cache + "/size", std::string(size) + "\n");
    }
  }
  write(root + "/proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
}

TEST(Cpu, ItsShapeComesFromTheKernel) {
  const testing_support::TempDirectory root;
  makeMachine(root.path());
  const v1::Device cpu = readCpu(root.path());
  EXPECT_EQ(cpu.id(), "cpu");
  EXPECT_EQ(cpu.sockets(), 2);
  EXPECT_EQ(cpu.cores(), 4);
  EXPECT_EQ(cpu.threads(), 8);
  EXPECT_EQ(cpu.memory_bytes(), 16384u << 10);
  ASSERT_EQ(cpu.caches_size(), 3);
  EXPECT_EQ(cpu.caches(0).kind(), "data");
  EXPECT_EQ(cpu.caches(0).bytes(), 48u << 10);
  EXPECT_EQ(cpu.caches(2).level(), 3);
  EXPECT_EQ(cpu.caches(2).bytes(), 36u << 20);
}

TEST(Cpu, AMachineThatSaysNothingOfItselfIsStillADevice) {
  const testing_support::TempDirectory root;
  write(root / "sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
  write(root / "sys/devices/system/cpu/cpu0/cache/index0/level", "no number\n");
  write(root / "proc/meminfo", "MemTotal: nonsense\n");
  const v1::Device cpu = readCpu(root.path());
  EXPECT_TRUE(cpu.healthy());
  EXPECT_EQ(cpu.threads(), 1);
  EXPECT_EQ(cpu.caches_size(), 0);
  EXPECT_EQ(cpu.memory_bytes(), 0u);
  for (const std::string& target : cpu.runs()) EXPECT_FALSE(wantsDevice(target)) << target;
}

class DriverProbeTest : public ::testing::Test {
 protected:
  DriverProbeTest() {
    behave("ok");
    setenv("KILN_EMULATED_STUB", control_.c_str(), 1);
  }
  void behave(const std::string& word) { std::ofstream(control_) << word; }

  testing_support::TempDirectory directory_;
  std::string control_ = directory_ / "behaviour";
  DriverProbe probe_{KILN_WORKER_PROGRAM, seconds(60)};
};

TEST_F(DriverProbeTest, ListsWhatTheDriverHas) {
  const auto gpus = probe_.list(KILN_STUB_LIBRARY);
  ASSERT_TRUE(gpus) << gpus.error().message;
  ASSERT_EQ(gpus->size(), 2u);
  EXPECT_EQ((*gpus)[0].about.name(), "Stub One");
  EXPECT_EQ((*gpus)[0].about.arch(), "sm_90");
  EXPECT_EQ((*gpus)[0].about.driver(), "13.0");
  EXPECT_TRUE((*gpus)[0].about.emulated());
  EXPECT_EQ((*gpus)[0].library, KILN_STUB_LIBRARY);
  EXPECT_NE((*gpus)[0].uuid, (*gpus)[1].uuid);
  EXPECT_EQ(probe_.test(KILN_STUB_LIBRARY, (*gpus)[1].uuid).value(), 1);
}

TEST_F(DriverProbeTest, ADriverThatCrashesCostsOnlyItsAnswer) {
  behave("abort");
  const auto gpus = probe_.list(KILN_STUB_LIBRARY);
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().code, Code::kUnavailable);
  EXPECT_NE(gpus.error().message.find("crashed: signal 6"), std::string::npos) << gpus.error().message;
}

TEST_F(DriverProbeTest, ADriverThatHangsIsGivenUp) {
  behave("hang");
  DriverProbe shortTimeout(KILN_WORKER_PROGRAM, std::chrono::milliseconds(300));
  const auto gpus = shortTimeout.list(KILN_STUB_LIBRARY);
  ASSERT_FALSE(gpus);
  EXPECT_NE(gpus.error().message.find("hangs"), std::string::npos) << gpus.error().message;
}

TEST_F(DriverProbeTest, ADriverThatTalksIsHeardToTheEnd) {
  behave("noise");
  EXPECT_TRUE(probe_.list(KILN_STUB_LIBRARY));
}

TEST_F(DriverProbeTest, WhatIsNoDriverSaysSo) {
  const auto none = probe_.list("libkiln-no-such-driver.so.1");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("libkiln-no-such-driver.so.1"), std::string::npos)
      << none.error().message;
}

TEST_F(DriverProbeTest, TheHealthCheckFindsWhatIsBroken) {
  const std::string second = probe_.list(KILN_STUB_LIBRARY)->at(1).uuid;
  for (const auto& [word, words] : {std::pair("lost", "does not list it any more"),
                                    {"full", "1 MiB of its memory"},
                                    {"corrupt", "came back changed"},
                                    {"abort", "crashed"}}) {
    behave(word);
    const auto tested = probe_.test(KILN_STUB_LIBRARY, second);
    ASSERT_FALSE(tested) << word;
    EXPECT_NE(tested.error().message.find(words), std::string::npos) << tested.error().message;
  }
  behave("swapped");
  EXPECT_EQ(probe_.test(KILN_STUB_LIBRARY, second).value(), 0) << "it is found wherever the driver counts it";
}

TEST(DriverSettings, AreWhatSetsADriverUp) {
  setenv("KILN_TEST_SECRET", "secret", 1);
  setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
  setenv("KILN_EMULATED_ARCH", "sm_80", 1);
  const auto settings = driverSettings();
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("KILN_EMULATED_ARCH");
  const auto has = [&](const std::string& name, const std::string& value) {
    return std::ranges::find(settings, std::pair(name, value)) != settings.end();
  };
  EXPECT_TRUE(has("CUDA_VISIBLE_DEVICES", "0,1"));
  EXPECT_TRUE(has("KILN_EMULATED_ARCH", "sm_80"));
  EXPECT_FALSE(has("KILN_TEST_SECRET", "secret"));
  setenv("VK_DRIVER_FILES", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json", 1);
  const auto vulkan = driverSettings();
  unsetenv("VK_DRIVER_FILES");
  EXPECT_TRUE(std::ranges::any_of(vulkan, [](const auto& one) { return one.first == "VK_DRIVER_FILES"; }));
}

Json gpuJson() {
  return {{"library", "/lib/x.so"}, {"ordinal", 0},       {"uuid", "GPU-1"},  {"name", "A"},
          {"arch", "sm_90"},        {"memoryBytes", "1"}, {"driver", "13.0"}, {"emulated", false},
          {"api", "cuda"},          {"apiVersion", ""},   {"type", ""},       {"conformance", ""},
          {"runs", {"cuda:sm_90a"}}};
}

TEST(GpuJson, WhatAChildSaysIsChecked) {
  EXPECT_EQ(gpusFromJson({{"gpus", {gpuJson()}}})->at(0).about.runs(0), "cuda:sm_90a");
  const auto bad = [](const std::function<void(Json&)>& change) {
    Json one = gpuJson();
    change(one);
    return !gpusFromJson({{"gpus", {one}}});
  };
  EXPECT_TRUE(bad([](Json& gpu) { gpu.erase("uuid"); }));
  EXPECT_TRUE(bad([](Json& gpu) { gpu["uuid"] = ""; }));
  EXPECT_TRUE(bad([](Json& gpu) { gpu["ordinal"] = -1; }));
  EXPECT_TRUE(bad([](Json& gpu) { gpu["ordinal"] = "0"; }));
  EXPECT_TRUE(bad([](Json& gpu) { gpu["more"] = 1; }));
  EXPECT_FALSE(gpusFromJson({{"gpus", {gpuJson(), gpuJson()}}})) << "two of one uuid";
  EXPECT_FALSE(gpusFromJson(Json::array()));
  EXPECT_FALSE(gpusFromJson({{"gpus", std::vector<Json>(64, gpuJson())}}));
  Json odd = gpuJson();
  odd["name"] = "\x1b[31m" + std::string(500, 'x');
  odd["runs"] = {"rm:-rf"};
  const auto cleaned = gpusFromJson({{"gpus", {odd}}});
  ASSERT_TRUE(cleaned);
  EXPECT_LE(cleaned->at(0).about.name().size(), 131u);
  EXPECT_EQ(cleaned->at(0).about.name().find('\x1b'), std::string::npos);
  EXPECT_EQ(cleaned->at(0).about.runs_size(), 0);
}

class FakeSource final : public GpuSource {
 public:
  Result<std::vector<Gpu>> list(const std::string& library) override {
    if (library == "broken") return fail(Code::kUnavailable, "the driver crashed");
    std::vector<Gpu> out;
    for (const char* uuid : listed) {
      Gpu gpu;
      gpu.library = library;
      gpu.uuid = uuid + library;
      gpu.about.set_kind("gpu");
      gpu.about.set_name(uuid);
      gpu.about.set_emulated(true);
      gpu.about.set_healthy(true);
      out.push_back(gpu);
    }
    return out;
  }
  Result<int> test(const std::string&, const std::string& uuid) override {
    ++tests;
    if (const auto why = broken.find(uuid); why != broken.end()) return fail(Code::kUnavailable, why->second);
    return ordinal;
  }

  std::vector<const char*> listed{"GPU-b", "GPU-a"};
  std::map<std::string, std::string> broken;  // uuid -> why
  int ordinal = 3, tests = 0;
};

class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest() { registry_.discover({"driver"}); }
  v1::Device device(const std::string& id) {
    for (const v1::Device& one : registry_.devices())
      if (one.id() == id) return one;
    return {};
  }

  FakeSource source_;
  testing_support::ManualClock clock_;
  Registry registry_{source_, clock_};
  sandbox::Cancel cancel_;
};

TEST_F(RegistryTest, IdsFollowTheUuidsWhichStayHere) {
  EXPECT_EQ(registry_.devices().size(), 3u);
  EXPECT_EQ(device("gpu0").name(), "GPU-a");
  EXPECT_EQ(device("gpu1").name(), "GPU-b");
  EXPECT_EQ(device("cpu").kind(), "cpu");
  for (v1::Device one : registry_.devices()) {
    one.clear_name();  // which the fake made of its uuid
    EXPECT_EQ(one.SerializeAsString().find("GPU-"), std::string::npos);
    EXPECT_EQ(toJson({one}, "").dump().find("GPU-"), std::string::npos);
  }
}

TEST_F(RegistryTest, ALibraryWithoutGpusIsNamedWithTheReason) {
  Registry registry(source_, clock_);
  registry.discover({"broken"});
  EXPECT_EQ(registry.devices().size(), 1u);
  EXPECT_EQ(registry.missing(), "broken: the driver crashed");
  EXPECT_EQ(registry_.missing(), "");
}

TEST_F(RegistryTest, AHeldDeviceIsNobodyElses) {
  std::optional<Hold> first(registry_.hold({"gpu0", "cpu"}, cancel_).value());
  ASSERT_TRUE(first->gpu());
  EXPECT_EQ(first->gpu()->ordinal, 3);
  EXPECT_TRUE(registry_.hold({"gpu1"}, cancel_)) << "another device is free";
  std::atomic<bool> got = false;
  std::thread second([&] {
    const auto hold = registry_.hold({"gpu0"}, cancel_);
    got = hold.has_value();
  });
  EXPECT_FALSE(got);
  first.reset();
  second.join();
  EXPECT_TRUE(got);
}

TEST_F(RegistryTest, WhoeverMeasuresTimesHasTheMachineAgainstOtherWorkers) {
  const auto measuring = registry_.hold({"cpu"}, cancel_, Claim::kMachine);
  ASSERT_TRUE(measuring) << measuring.error().message;
  Registry other(source_, clock_);
  other.discover({"driver"});
  EXPECT_TRUE(other.hold({"cpu"}, cancel_)) << "a check does not measure";
  sandbox::Cancel cancelled;
  cancelled.request();
  const auto second = other.hold({"cpu"}, cancelled, Claim::kMachine);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kCancelled);
}

TEST_F(RegistryTest, WhoeverWaitsForADeviceCanBeCancelled) {
  const auto first = registry_.hold({"cpu"}, cancel_);
  sandbox::Cancel other;
  other.request();
  const auto second = registry_.hold({"cpu"}, other);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kCancelled);
}

TEST_F(RegistryTest, ADeviceThatFailsItsHealthCheckIsDrained) {
  source_.broken["GPU-adriver"] = "it fell off the bus";
  const auto hold = registry_.hold({"gpu0"}, cancel_);
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Code::kUnavailable) << "so that the action is queued again";
  EXPECT_FALSE(device("gpu0").healthy());
  EXPECT_EQ(device("gpu0").reason(), "its health check failed: it fell off the bus");
  EXPECT_TRUE(device("gpu1").healthy());
  const int tests = source_.tests;
  EXPECT_FALSE(registry_.hold({"gpu0"}, cancel_));
  EXPECT_EQ(source_.tests, tests) << "a drained device is not asked for each action";
  EXPECT_TRUE(registry_.hold({"gpu1"}, cancel_));
}

TEST_F(RegistryTest, ADrainedDeviceIsTriedAgainLaterAndLater) {
  source_.broken["GPU-adriver"] = "gone";
  EXPECT_FALSE(registry_.nextRetry());
  registry_.drain("gpu0", "lost in the middle of a check");
  const TimePoint start = clock_.now();
  EXPECT_EQ(registry_.nextRetry(), start + seconds(5));
  registry_.retry();
  EXPECT_EQ(source_.tests, 0) << "not yet";
  for (const int wait : {5, 10, 20, 40}) {
    EXPECT_EQ(registry_.nextRetry(), clock_.now() + seconds(wait));
    clock_.advance(seconds(wait));
    registry_.retry();
  }
  EXPECT_EQ(source_.tests, 4);
  for (int i = 0; i < 20; ++i) {
    clock_.advance(minutes(10));
    registry_.retry();
  }
  EXPECT_EQ(registry_.nextRetry(), clock_.now() + minutes(10)) << "at most that long";
  source_.broken.clear();
  source_.ordinal = 7;
  clock_.advance(minutes(10));
  registry_.retry();
  EXPECT_TRUE(device("gpu0").healthy());
  EXPECT_EQ(device("gpu0").reason(), "");
  EXPECT_FALSE(registry_.nextRetry());
  EXPECT_EQ(registry_.hold({"gpu0"}, cancel_)->gpu()->ordinal, 7);
}

TEST_F(RegistryTest, OneThatKeepsLosingActionsStaysAwayLongerThoughItsHealthChecksPass) {
  for (const int wait : {5, 10, 20}) {
    registry_.drain("gpu0", "lost in the middle of a check");
    EXPECT_EQ(registry_.nextRetry(), clock_.now() + seconds(wait));
    clock_.advance(seconds(wait));
    registry_.retry();
    EXPECT_TRUE(device("gpu0").healthy());
  }
  registry_.proved("gpu0");
  registry_.drain("gpu0", "lost in the middle of a check");
  EXPECT_EQ(registry_.nextRetry(), clock_.now() + seconds(5)) << "an action came to its end in between";
}

TEST_F(RegistryTest, WhereADeviceIsLostANewOneIsFoundUnderAnIdOfItsOwn) {
  source_.broken["GPU-adriver"] = "gone";
  source_.listed = {"GPU-0", "GPU-b"};
  registry_.drain("gpu0", "lost in the middle of a check");
  clock_.advance(seconds(5));
  registry_.retry();
  EXPECT_EQ(registry_.devices().size(), 4u);
  EXPECT_EQ(device("gpu2").name(), "GPU-0");
  EXPECT_TRUE(device("gpu2").healthy());
  EXPECT_EQ(device("gpu1").name(), "GPU-b") << "it keeps its id";
  EXPECT_FALSE(device("gpu0").healthy());
  EXPECT_TRUE(registry_.hold({"gpu2"}, cancel_));
}

TEST_F(RegistryTest, ADriverThatShowsNoGpuIsAskedAgain) {
  FakeSource source;
  source.listed.clear();
  Registry registry(source, clock_);
  registry.discover({"driver"});
  EXPECT_EQ(registry.missing(), "driver: it lists no device");
  EXPECT_EQ(registry.nextRetry(), clock_.now() + minutes(10));
  source.listed = {"GPU-a"};
  clock_.advance(minutes(10));
  registry.retry();
  EXPECT_EQ(registry.devices().size(), 2u);
  EXPECT_EQ(registry.missing(), "");
  EXPECT_FALSE(registry.nextRetry());
}

TEST_F(RegistryTest, ADeviceThatIsNotThereIsNoReasonToEnd) {
  const auto hold = registry_.hold({"gpu9"}, cancel_);
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Code::kUnavailable);
  registry_.drain("gpu9", "whatever");
  EXPECT_EQ(registry_.devices().size(), 3u);
}

TEST(HostLock, OneHolderPerDeviceOnAMachine) {
  const testing_support::TempDirectory root;
  const std::string directory = root / "locks";
  auto first = HostLock::tryTake("GPU-1", directory).value();
  ASSERT_TRUE(first);
  EXPECT_FALSE(HostLock::tryTake("GPU-1", directory).value());
  EXPECT_TRUE(HostLock::tryTake("GPU-2", directory).value());
  first.reset();
  EXPECT_TRUE(HostLock::tryTake("GPU-1", directory).value());
  for (const auto& file : std::filesystem::directory_iterator(directory))
    EXPECT_EQ(file.path().string().find("GPU-"), std::string::npos) << "uuids stay private";
}

TEST(HostLock, ADirectoryThatOthersCanWriteIsRefusedByName) {
  const testing_support::TempDirectory root;
  const auto refused = [](const std::string& directory) {
    const auto lock = HostLock::tryTake("GPU-1", directory);
    ASSERT_FALSE(lock);
    EXPECT_EQ(lock.error().code, Code::kFailedPrecondition);
    EXPECT_NE(lock.error().message.find(directory), std::string::npos) << lock.error().message;
  };
  std::filesystem::create_directory(root / "open");
  chmod((root / "open").c_str(), 0777);
  refused(root / "open");
  std::filesystem::create_directory(root / "mine");
  chmod((root / "mine").c_str(), 0700);
  std::filesystem::create_directory_symlink(root / "mine", root / "link");
  refused(root / "link");
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  ASSERT_EQ(chown((root / "mine").c_str(), 65534, 65534), 0);
  refused(root / "mine");
}

}  // namespace
}  // namespace kiln::devices
