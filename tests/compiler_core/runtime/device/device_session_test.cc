// Artifacts with kernels for a device, from the files to the results, on the emulated one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "tests/compiler_core/runtime/device/device_contract.h"
#include "tests/compiler_core/runtime/device/device_files.h"
#include "tests/compiler_core/runtime/failure.h"

namespace kiln::runtime::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class EmulatedCuda final : public DeviceFamily {
 public:
  std::unique_ptr<DeviceFolder> files(const std::string& program) const override {
    return std::make_unique<DeviceTestArtifact>(program);
  }
  kiln_session_options options() const override { return onEmulatedDevice(); }
  std::string left() const override {
    const auto left = statistics();
    // Of one that is lost nothing can be overwritten any more.
    if (left.unscrubbed != 0 && !lost_) return "memory of a session was given back as it is";
    return left.device_bytes + left.pinned_bytes + left.modules == 0 ? "" : "memory or modules on the device";
  }
  void willBeLost() override {
    fault_.emplace("KILN_EMULATED_LOST", "1");
    lost_ = true;
  }
  void takeMemory() override { fault_.emplace("KILN_EMULATED_MEMORY", "10000"); }
  void giveMemory() override { fault_.reset(); }
  Words words() const override {
    return {"cuda:sm_90a",        "cuda",
            "no CUDA driver",     "cuInit",
            "CUDA_ERROR_UNKNOWN", "10000 of its 10000 bytes free"};
  }

 private:
  std::optional<Variable> fault_;
  bool lost_ = false;
};
INSTANTIATE_TEST_SUITE_P(Devices, DeviceContract,
                         testing::Values(DeviceFamilyMaker{"emulated_cuda",
                                                           []() -> std::unique_ptr<DeviceFamily> {
                                                             return std::make_unique<EmulatedCuda>();
                                                           }}));

// How opening a session fails; nothing of it is left on the device.
Failure refusal(const DeviceTestArtifact& files, kiln_session_options options = onEmulatedDevice()) {
  const Failure failure = failureOf(Session::open(open(files), options));
  const auto left = statistics();
  EXPECT_EQ(left.device_bytes + left.pinned_bytes + left.modules, 0u) << failure.message;
  return failure;
}

TEST(DeviceSession, CountsWhatTheDeviceSays) {
  DeviceTestArtifact files;
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact, onEmulatedDevice());
  expectRight(session, sampleInput());
  const kiln_counters counters = session.counters();
  EXPECT_EQ(counters.device_observed_bytes, counters.device_planned_bytes);
  EXPECT_EQ(std::string(counters.device_name), "Kiln emulated device (test only)");
  EXPECT_EQ(counters.device_driver_version, 13000);
  EXPECT_NE(counters.device_emulated, 0);
  EXPECT_EQ(counters.device_compute_major, 9);
  EXPECT_EQ(counters.device_compute_minor, 0);
}

TEST(DeviceSession, EveryOrderOfThreadsGivesTheSameBits) {
  for (const char* order : {"ascending", "descending", "shuffled"}) {
    const Variable chosen("KILN_EMULATED_ORDER", order);
    DeviceTestArtifact files;
    const Artifact artifact = open(files);
    Session session = sessionOf(artifact, onEmulatedDevice());
    expectRight(session, sampleInput());
  }
}

TEST(DeviceSession, ARecordedRunIsAGraph) {
  DeviceTestArtifact files;
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact, onEmulatedDevice());
  for (int i = 0; i < 5; ++i) expectRight(session, inputOf(static_cast<float>(i)));
  EXPECT_EQ(statistics().graph_launches, 4u);
  EXPECT_EQ(statistics().launches, 5u);
}

TEST(DeviceSession, AFallbackIsNeverReplayed) {
  DeviceTestArtifact files;
  files.manifest.spec.fallback = "cpu";
  files.writeManifest();
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact, onEmulatedDevice());
  for (int i = 0; i < 3; ++i) expectRight(session, inputOf(static_cast<float>(i)));
  EXPECT_EQ(session.counters().replayed_runs, 0u);
}

TEST(DeviceSession, WeightsAreThereOnceAndNothingStays) {
  DeviceTestArtifact files;
  const Artifact artifact = open(files);
  {
    Session first = sessionOf(artifact, onEmulatedDevice()), second = sessionOf(artifact, onEmulatedDevice());
    expectRight(first, inputOf(1));
    expectRight(second, inputOf(2));
    EXPECT_EQ(statistics().device_allocations, 3u) << "weights, and an arena for each session";
    EXPECT_EQ(statistics().modules, 1u);
  }
  const auto left = statistics();
  EXPECT_EQ(left.device_bytes, 0u);
  EXPECT_EQ(left.pinned_bytes, 0u);
  EXPECT_EQ(left.modules, 0u);
  EXPECT_EQ(left.unscrubbed, 0u) << "memory of a session must not be given back as it is";
  Session again = sessionOf(artifact, onEmulatedDevice());
  expectRight(again, inputOf(3));
}

TEST(DeviceSession, KeepsWhenEachKernelRan) {
  DeviceTestArtifact files;
  const Artifact artifact = open(files);
  auto options = onEmulatedDevice();
  options.measure_kernels = KILN_MEASURE_SPANS;
  Session session = sessionOf(artifact, options);
  for (int i = 0; i < 2; ++i) expectRight(session, inputOf(static_cast<float>(i)));
  const auto spans = session.spans().kept;
  ASSERT_EQ(spans.size(), 4u);
  for (const std::size_t i : {0u, 2u}) {
    const kiln_span &kernel = spans[i], &run = spans[i + 1];
    EXPECT_STREQ(kernel.symbol, "kiln_k0_scale");
    EXPECT_EQ(kernel.thread, KILN_ON_DEVICE);
    EXPECT_EQ(kernel.tasks, static_cast<std::uint64_t>(kRows * kColumns / 64));
    EXPECT_EQ(run.symbol, nullptr);
    EXPECT_EQ(kernel.run, run.run);
    EXPECT_LE(kernel.start_nanoseconds + kernel.nanoseconds, run.start_nanoseconds + run.nanoseconds);
  }
}

TEST(DeviceSession, TheSecondDeviceIsChosenByNumber) {
  const Variable two("KILN_EMULATED_DEVICES", "2"), arch("KILN_EMULATED_ARCH", "sm_80,sm_90a");
  DeviceTestArtifact files;
  const Artifact artifact = open(files);
  EXPECT_THAT(refusal(files).message, HasSubstr("sm_80"));
  auto options = onEmulatedDevice();
  options.device = 1;
  Session session = sessionOf(artifact, options);
  expectRight(session, sampleInput());
}

TEST(DeviceSession, NoDeviceIsSaid) {
  const Variable none("KILN_EMULATED_DEVICES", "0");
  const Failure failure = refusal(DeviceTestArtifact());
  EXPECT_EQ(failure.errorClass, KILN_UNSUPPORTED_TARGET);
  EXPECT_THAT(failure.message, HasSubstr("CUDA_ERROR_NO_DEVICE"));
}

TEST(DeviceSession, TooOldADriverNamesBothVersions) {
  const Variable old("KILN_EMULATED_DRIVER", "12.4");
  const Failure failure = refusal(DeviceTestArtifact());
  EXPECT_EQ(failure.errorClass, KILN_UNSUPPORTED_TARGET);
  EXPECT_THAT(failure.message, AllOf(HasSubstr("CUDA 12.4"), HasSubstr("need CUDA 13.0")));
}

TEST(DeviceSession, AnotherArchitectureNamesBoth) {
  const Variable arch("KILN_EMULATED_ARCH", "sm_86");
  const Failure failure = refusal(DeviceTestArtifact());
  EXPECT_EQ(failure.errorClass, KILN_UNSUPPORTED_TARGET);
  EXPECT_THAT(failure.message, AllOf(HasSubstr("sm_86"), HasSubstr("cuda:sm_90a")));
}

TEST(DeviceSession, TooLittleMemoryNamesPlannedAndFreeBytes) {
  const Variable little("KILN_EMULATED_MEMORY", "10000");
  const Failure failure = refusal(DeviceTestArtifact());
  EXPECT_EQ(failure.errorClass, KILN_ALLOCATION_FAILURE);
  EXPECT_THAT(failure.message, AllOf(HasSubstr("plans 17408 bytes"), HasSubstr("16384 for its arena"),
                                     HasSubstr("10000 of its 10000 bytes free")));
}

TEST(DeviceSession, TooLittleMemoryForASecondSession) {
  const Variable little("KILN_EMULATED_MEMORY", "20000");
  DeviceTestArtifact files;
  const Artifact artifact = open(files);
  Session first = sessionOf(artifact, onEmulatedDevice());
  const Failure failure = failureOf(Session::open(artifact, onEmulatedDevice()));
  EXPECT_EQ(failure.errorClass, KILN_ALLOCATION_FAILURE);
  expectRight(first, sampleInput());
}

TEST(DeviceSession, SizesThatNoDeviceHasAreRefused) {
  DeviceTestArtifact files;
  files.manifest.profiles[0].deviceArenaBytes = {UINT64_MAX};
  files.writeManifest();
  const auto artifact = Artifact::open(files.path());
  EXPECT_EQ(failureOf(artifact).errorClass, KILN_INVALID_ARTIFACT) << "the program states another size";
}

TEST(DeviceSession, TheListOfArenasLiesWithinTheProgram) {
  for (const char* program : {"device_arenas_misaligned", "device_arenas_behind"}) {
    const Failure failure = failureOf(Artifact::open(DeviceTestArtifact(program).path()));
    EXPECT_EQ(failure.errorClass, KILN_INVALID_ARTIFACT) << program;
    EXPECT_THAT(failure.message, HasSubstr("list of arenas is outside its segments")) << program;
  }
}

TEST(DeviceSession, AnImageThatIsNotTheManifestsIsRefused) {
  DeviceTestArtifact files;
  files.write("kernels/sm_90a.cubin", fakeCubin('b'));
  const Failure failure = failureOf(Artifact::open(files.path()));
  EXPECT_EQ(failure.errorClass, KILN_INVALID_ARTIFACT);
  EXPECT_THAT(failure.message, AllOf(HasSubstr("sm_90a.cubin"), HasSubstr("digest")));
  files.write("kernels/sm_90a.cubin", fakeCubin('a') + "more");
  EXPECT_EQ(failureOf(Artifact::open(files.path())).errorClass, KILN_INVALID_ARTIFACT);
  std::filesystem::remove(files / "kernels/sm_90a.cubin");
  EXPECT_EQ(failureOf(Artifact::open(files.path())).errorClass, KILN_INVALID_ARTIFACT);
}

TEST(DeviceSession, AnImageThatIsCutOffNeverReachesTheDriver) {
  std::string beyond = fakeCubin('a'), foreign = fakeCubin('a');
  beyond[47] = 0x10;  // of e_shoff: 2^60
  foreign[18] = 62;   // x86-64
  for (const std::string& image : {std::string("\x7f"
                                               "EL"),
                                   fakeCubin('a').substr(0, 100), beyond, foreign}) {
    DeviceTestArtifact files;
    files.write("kernels/sm_90a.cubin", image);
    files.manifest.devices[0].image.digest = digestOf(image);
    files.writeManifest();
    const Failure failure = failureOf(Artifact::open(files.path()));
    EXPECT_EQ(failure.errorClass, KILN_INVALID_ARTIFACT);
    EXPECT_THAT(failure.message, HasSubstr("cut off"));
  }
}

TEST(DeviceSession, AnImageWithoutEmulationIsNamed) {
  DeviceTestArtifact files;
  const Variable elsewhere("KILN_EMULATED_KERNELS", "/nowhere");
  const Failure failure = refusal(files);
  EXPECT_EQ(failure.errorClass, KILN_UNSUPPORTED_TARGET);
  EXPECT_THAT(failure.message, HasSubstr(digestOf(fakeCubin('a')).hex()));
}

TEST(DeviceSession, ADivergentBarrierEndsTheDeviceForTheProcess) {
  DeviceTestArtifact files("device_diverge");
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact, onEmulatedDevice());
  const Failure failure = failureOf(session.run(tensorsOf(sampleInput())));
  EXPECT_EQ(failure.errorClass, KILN_BACKEND_FAILURE);
  EXPECT_THAT(failure.message, AllOf(HasSubstr("CUDA_ERROR_LAUNCH_FAILED"), HasSubstr("kiln_k1_diverge"),
                                     HasSubstr("divergent barrier: 32 of 64 threads")));
  const Failure later = failureOf(session.run(tensorsOf(sampleInput())));
  EXPECT_EQ(later.errorClass, KILN_BACKEND_FAILURE);
  EXPECT_THAT(later.message, AllOf(HasSubstr("an earlier run failed"), HasSubstr("can use it no more")));
  EXPECT_EQ(session.counters().failed_runs, 2u);
}

TEST(DeviceSession, AWriteOutsideOfMemoryIsTheKernelsError) {
  DeviceTestArtifact files("device_outside");
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact, onEmulatedDevice());
  const Failure failure = failureOf(session.run(tensorsOf(sampleInput())));
  EXPECT_EQ(failure.errorClass, KILN_BACKEND_FAILURE);
  EXPECT_THAT(failure.message, AllOf(HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"), HasSubstr("kiln_k2_outside")));
}

TEST(DeviceSession, AKernelThatIsGivenMemoryOfTheProcessorIsRefused) {
  DeviceTestArtifact files("device_foreign");
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact, onEmulatedDevice());
  const Failure failure = failureOf(session.run(tensorsOf(sampleInput())));
  EXPECT_EQ(failure.errorClass, KILN_BACKEND_FAILURE);
  EXPECT_THAT(failure.message,
              AllOf(HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"),
                    HasSubstr("kernel kiln_k0_scale, argument 0 is no address on the device")));
}

// Nothing within the process can end it: that is for whoever started the process, with a time limit.
TEST(DeviceSessionDeathTest, AKernelThatNeverEndsIsEndedFromOutside) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Variable hang("KILN_EMULATED_HANG", "2");
  const auto runTwice = [] {
    DeviceTestArtifact files;
    const Artifact artifact = open(files);
    Session session = sessionOf(artifact, onEmulatedDevice());
    expectRight(session, inputOf(1));
    // Starts when the first run is over, so that a slow machine does not matter.
    ::signal(SIGALRM, [](int) { ::_exit(33); });
    ::alarm(1);
    expectRight(session, inputOf(2));
    ::_exit(0);
  };
  EXPECT_EXIT(runTwice(), testing::ExitedWithCode(33), "");
}

TEST(DeviceSession, ALostDeviceIsSaid) {
  const Variable lost("KILN_EMULATED_LOST", "2");
  DeviceTestArtifact files;
  const Artifact artifact = open(files);
  Session session = sessionOf(artifact, onEmulatedDevice());
  expectRight(session, inputOf(1));
  expectRight(session, inputOf(2));
  const Failure failure = failureOf(session.run(tensorsOf(sampleInput())));
  EXPECT_EQ(failure.errorClass, KILN_DEVICE_LOST);
  EXPECT_THAT(failure.message, HasSubstr("CUDA_ERROR_UNKNOWN"));
  EXPECT_EQ(failureOf(session.run(tensorsOf(sampleInput()))).errorClass, KILN_DEVICE_LOST);
}

}  // namespace
}  // namespace kiln::runtime::test
