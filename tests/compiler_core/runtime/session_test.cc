// Load, warm up, run: the C++ API over the C API, with good and bad artifacts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstring>
#include <thread>

#include "compiler_core/runtime/parallel/fp_state.h"
#include "compiler_core/runtime/runtime.h"
#include "tests/compiler_core/runtime/failure.h"
#include "tests/compiler_core/runtime/test_artifact.h"

namespace kiln::runtime::test {
namespace {

using testing::HasSubstr;

Failure openFailure(const TestArtifact& artifact) {
  return failureOf(Artifact::open(artifact.path()));
}

std::vector<NamedTensor> sampleInputs() {
  return {{"x", floats({kRows, kColumns}, sampleInput())}};
}

Session sessionOf(const TestArtifact& artifact, std::uint32_t threads = 2, bool runBeforeReady = true) {
  auto opened = Artifact::open(artifact.path());
  EXPECT_TRUE(opened) << opened.error().message;
  auto session = Session::open(*opened, {.threads = threads, .run_before_ready = runBeforeReady});
  EXPECT_TRUE(session) << session.error().message;
  return std::move(*session);
}

TEST(Session, LoadsWarmsUpAndRuns) {
  TestArtifact files;
  files.writeFixtures();
  auto artifact = Artifact::open(files.path());
  ASSERT_TRUE(artifact) << artifact.error().message;
  ASSERT_EQ(artifact->inputs().size(), 1u);
  EXPECT_EQ(artifact->inputs()[0].name, "x");
  EXPECT_EQ(artifact->outputs()[1].dtype, DType::kU32);

  auto session = Session::open(*artifact);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_FALSE(session->ready());
  const auto early = failureOf(session->run(sampleInputs()));
  EXPECT_EQ(early.errorClass, KILN_NOT_READY);
  EXPECT_THAT(early.message, HasSubstr("call warmup first"));

  const Status warm = session->warmup();
  ASSERT_TRUE(warm) << warm.error().message;
  EXPECT_TRUE(session->ready());
  const auto outputs = session->run(sampleInputs());
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ((*outputs)[0].name, "y");
  EXPECT_EQ(valuesOf((*outputs)[0].tensor), expectedOutput(sampleInput()));
}

TEST(Session, AnEmptyDirectoryIsNotTheRootFolder) {
  const auto failure = failureOf(Artifact::open(""));
  EXPECT_EQ(failure.errorClass, KILN_INVALID_ARGUMENT);
  EXPECT_EQ(failure.message, "directory is \"\"");
}

TEST(Session, AnyThreadCountGivesTheSameBits) {
  TestArtifact files;
  std::vector<std::uint8_t> first;
  for (const std::uint32_t threads : {1u, 2u, 3u, 7u, 16u}) {
    Session session = sessionOf(files, threads);
    for (int repeat = 0; repeat < 20; ++repeat) {
      const auto outputs = session.run(sampleInputs());
      ASSERT_TRUE(outputs) << outputs.error().message;
      if (first.empty()) first = (*outputs)[0].tensor.data;
      ASSERT_EQ((*outputs)[0].tensor.data, first) << threads << " threads";
    }
  }
}

TEST(Session, OutlivesTheArtifactHandle) {
  TestArtifact files;
  auto artifact = Artifact::open(files.path());
  auto session = Session::open(*artifact, {.threads = 2, .run_before_ready = 1});
  artifact = fail(Code::kUnknown, "closed");
  EXPECT_TRUE(session->run(sampleInputs()));
}

TEST(Session, TheCallersFloatingPointStateIsKeptOut) {
#if defined(__x86_64__)
  TestArtifact files;
  Session session = sessionOf(files, 3);
  const auto before = FpScope::get();
  FpScope::set(before | 0x8040);  // flush to zero, denormals are zero
  const auto outputs = session.run(sampleInputs());
  const auto after = FpScope::get();
  FpScope::set(before);
  ASSERT_TRUE(outputs);
  EXPECT_EQ(after & 0x8040u, 0x8040u) << "and it is restored";
  const auto& state = (*outputs)[1].tensor.data;
  for (std::size_t i = 0; i < state.size(); i += 4) {
    std::uint32_t value;
    std::memcpy(&value, &state[i], 4);
    EXPECT_EQ(value, 0x1f80u) << "entry or task " << i / 4;
  }
#endif
}

TEST(Session, CountersTellWhatHappened) {
  TestArtifact files;
  files.writeFixtures();
  Session session = sessionOf(files, 3, false);
  EXPECT_EQ(session.counters().observed_peak_bytes, 0u);
  ASSERT_TRUE(session.warmup());
  ASSERT_TRUE(session.run(sampleInputs()));
  ASSERT_TRUE(session.run(sampleInputs()));
  EXPECT_FALSE(session.run({{"x", floats({1, kColumns}, std::vector<float>(kColumns))}}));
  EXPECT_FALSE(session.run({}));
  const kiln_counters counters = session.counters();
  EXPECT_EQ(counters.runs, 2u);
  EXPECT_EQ(counters.failed_runs, 2u);
  EXPECT_EQ(counters.guard_failures, 1u);
  EXPECT_EQ(counters.planned_bytes, 8192u + 3 * 1024u);
  EXPECT_GE(counters.observed_peak_bytes, 8192u);
  EXPECT_LE(counters.observed_peak_bytes, counters.planned_bytes);
  EXPECT_EQ(counters.weight_bytes, 1024u);
  EXPECT_GT(counters.load_nanoseconds, 0u);
  EXPECT_GT(counters.warmup_nanoseconds, 0u);
  EXPECT_GT(counters.first_run_nanoseconds, 0u);
  EXPECT_EQ(counters.threads, 3u);
  EXPECT_STREQ(counters.path, "cpu:x86-64-v3 profile default");
}

TEST(Session, BuffersAlignedTo64BytesAreNotCopied) {
  TestArtifact files;
  Session session = sessionOf(files);
  alignas(64) static float x[kRows * kColumns], y[kRows * kColumns + 1];
  alignas(64) static std::uint32_t state[kRows + 1];
  const std::int64_t shape[] = {kRows, kColumns};
  std::int64_t shapes[] = {0, 0, 0};
  const kiln_tensor input{"x", "f32", shape, 2, x, sizeof x};
  kiln_output outputs[] = {{"state", "u32", state, sizeof state, shapes + 2, 1, 0},
                           {"y", "f32", y, sizeof x, shapes, 2, 0}};
  ASSERT_EQ(kiln_session_run(session.handle(), &input, 1, outputs, 2), nullptr);
  EXPECT_EQ(session.counters().transfer_bytes, 0u);
  outputs[1].data = y + 1;
  ASSERT_EQ(kiln_session_run(session.handle(), &input, 1, outputs, 2), nullptr);
  EXPECT_EQ(session.counters().transfer_bytes, sizeof x);
  EXPECT_EQ(y[1 + 5], 5 * 0.125f);
}

TEST(Session, CopiesBetweenPartitionsCount) {
  TestArtifact files;
  files.manifest.profiles[0].transferBytes = 1000;
  files.writeManifest();
  Session session = sessionOf(files);
  alignas(64) static float x[kRows * kColumns], y[kRows * kColumns];
  alignas(64) static std::uint32_t state[kRows + 1];
  const std::int64_t shape[] = {kRows, kColumns};
  std::int64_t shapes[] = {0, 0, 0};
  const kiln_tensor input{"x", "f32", shape, 2, x, sizeof x};
  kiln_output outputs[] = {{"state", "u32", state, sizeof state, shapes + 2, 1, 0},
                           {"y", "f32", y, sizeof x, shapes, 2, 0}};
  for (int run = 0; run < 2; ++run)
    ASSERT_EQ(kiln_session_run(session.handle(), &input, 1, outputs, 2), nullptr);
  EXPECT_EQ(session.counters().transfer_bytes, 2000u);
}

TEST(Session, RunsOfManyThreadsTakeTurns) {
  TestArtifact files;
  Session session = sessionOf(files, 2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) EXPECT_TRUE(session.run(sampleInputs()));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(session.counters().runs, 200u);
}

// Sessions run at the same time, each in its own arena, and read the same mapped weights.
TEST(Session, ConcurrentSessionsShareOneWeightMapping) {
  TestArtifact files;
  auto artifact = Artifact::open(files.path());
  ASSERT_TRUE(artifact) << artifact.error().message;
  const auto mappings = [&] {
    int count = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) count += line.ends_with(files / "weights/0000.bin");
    return count;
  };
  EXPECT_EQ(mappings(), 1);
  std::vector<Session> sessions;
  for (int i = 0; i < 4; ++i) {
    auto session = Session::open(*artifact, {.threads = 2, .run_before_ready = 1});
    ASSERT_TRUE(session) << session.error().message;
    sessions.push_back(std::move(*session));
  }
  EXPECT_EQ(mappings(), 1);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    threads.emplace_back([&, i] {
      std::vector<float> x = sampleInput();
      for (float& value : x) value += static_cast<float>(i);
      for (int repeat = 0; repeat < 50; ++repeat) {
        const auto outputs = sessions[i].run({{"x", floats({kRows, kColumns}, x)}});
        ASSERT_TRUE(outputs) << outputs.error().message;
        ASSERT_EQ(valuesOf((*outputs)[0].tensor), expectedOutput(x));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(mappings(), 1);
  sessions.clear();
  artifact = fail(Code::kUnknown, "closed");
  EXPECT_EQ(mappings(), 0);
}

TEST(SessionInputs, ErrorsNameInputExpectedAndGiven) {
  TestArtifact files;
  Session session = sessionOf(files);
  const auto run = [&](const std::vector<NamedTensor>& inputs) { return failureOf(session.run(inputs)); };

  auto failure = run({{"x", floats({2, 256}, std::vector<float>(512))}});
  EXPECT_EQ(failure.errorClass, KILN_OUTSIDE_PROFILES);
  EXPECT_EQ(failure.message,
            "input \"x\" dimension 0: N is 2; profile default takes N = 8; build the artifact with a profile "
            "for it");
  failure = run({{"x", {DType::kI32, {8, 256}, std::vector<std::uint8_t>(8192)}}});
  EXPECT_EQ(failure.errorClass, KILN_INVALID_ARGUMENT);
  EXPECT_THAT(failure.message, HasSubstr("input \"x\": expected f32[N,256], given i32[8,256]"));
  failure = run({{"z", floats({8, 256}, sampleInput())}});
  EXPECT_THAT(failure.message, HasSubstr("there is no input \"z\"; there is \"x\""));
  EXPECT_THAT(run({}).message, HasSubstr("input \"x\": expected f32[N,256], given nothing"));
  EXPECT_THAT(run({sampleInputs()[0], sampleInputs()[0]}).message, HasSubstr("given twice"));
  failure = run({{"x", {DType::kF32, {8, 256}, std::vector<std::uint8_t>(8191)}}});
  EXPECT_THAT(failure.message, HasSubstr("the buffer has 8191 bytes, 8192 are needed"));
}

TEST(SessionInputs, TypesAndRanksAreTheManifests) {
  TestArtifact files;
  Session session = sessionOf(files);
  const auto refusal = [&](auto change) {
    static float x[kRows * kColumns], y[kRows * kColumns];
    static std::uint32_t state[kRows + 1];
    const std::int64_t shape[] = {kRows, kColumns, 1};
    std::int64_t shapes[4] = {};
    kiln_tensor input{"x", "f32", shape, 2, x, sizeof x};
    kiln_output outputs[] = {{"y", "f32", y, sizeof y, shapes, 2, 0},
                             {"state", "u32", state, sizeof state, shapes + 3, 1, 0}};
    change(input, outputs[0]);
    kiln_status* const status = kiln_session_run(session.handle(), &input, 1, outputs, 2);
    std::string message = status == nullptr ? "" : kiln_status_message(status);
    if (status != nullptr) kiln_status_free(status);
    return message;
  };
  EXPECT_EQ(refusal([](kiln_tensor&, kiln_output&) {}), "");
  EXPECT_EQ(refusal([](kiln_tensor& in, kiln_output&) { in.rank = 1; }),
            "input \"x\": expected f32[N,256], given f32[8]");
  EXPECT_EQ(refusal([](kiln_tensor& in, kiln_output&) { in.rank = 3; }),
            "input \"x\": expected f32[N,256], given f32[8,256,1]");
  EXPECT_EQ(refusal([](kiln_tensor& in, kiln_output&) { in.shape = nullptr; }),
            "input \"x\": given without element type or shape");
  EXPECT_EQ(refusal([](kiln_tensor& in, kiln_output&) { in.dtype = nullptr; }),
            "input \"x\": given without element type or shape");
  EXPECT_EQ(refusal([](kiln_tensor& in, kiln_output&) { in.name = nullptr; }), "an input has no name");
  EXPECT_EQ(refusal([](kiln_tensor&, kiln_output& out) { out.dtype = nullptr; }),
            "output \"y\": expected f32[N,256], given element type none");
  EXPECT_EQ(refusal([](kiln_tensor&, kiln_output& out) { out.dtype = "i32"; }),
            "output \"y\": expected f32[N,256], given element type i32");
  EXPECT_EQ(refusal([](kiln_tensor&, kiln_output& out) { out.rank = 3; }),
            "output \"y\": expected f32[N,256], given room for 3 dimensions");
  EXPECT_EQ(refusal([](kiln_tensor&, kiln_output& out) { out.shape = nullptr; }),
            "output \"y\": expected f32[N,256], given room for 0 dimensions");
}

TEST(SessionInputs, OverlappingBuffersAreRefused) {
  TestArtifact files;
  Session session = sessionOf(files);
  alignas(64) static float x[2 * kRows * kColumns];
  static std::uint32_t state[kRows + 1];
  const std::int64_t shape[] = {kRows, kColumns};
  std::int64_t shapes[] = {0, 0, 0};
  const kiln_tensor input{"x", "f32", shape, 2, x, sizeof x / 2};
  kiln_output outputs[] = {{"y", "f32", x + 16, sizeof x / 2, shapes, 2, 0},
                           {"state", "u32", state, sizeof state, shapes + 2, 1, 0}};
  kiln_status* status = kiln_session_run(session.handle(), &input, 1, outputs, 2);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(kiln_status_class(status), KILN_INVALID_ARGUMENT);
  EXPECT_THAT(kiln_status_message(status), HasSubstr("output \"y\" overlaps"));
  kiln_status_free(status);
}

TEST(SessionInputs, PinnedValuesAreGuarded) {
  TestArtifact files;
  // The program reads x as floats whatever the manifest calls it.
  files.manifest.inputs[0].dtype = DType::kI32;
  std::vector<PinValue> pin(kRows * kColumns, std::int64_t{5});
  files.manifest.spec.pins = {{"x", pin}};
  files.writeManifest();
  Session session = sessionOf(files);
  npy::Tensor tensor{DType::kI32, {kRows, kColumns}, {}};
  for (std::size_t i = 0; i < pin.size(); ++i) tensor.data.insert(tensor.data.end(), {5, 0, 0, 0});
  EXPECT_TRUE(session.run({{"x", tensor}}));
  tensor.data[0] = 6;
  const auto failure = failureOf(session.run({{"x", tensor}}));
  EXPECT_EQ(failure.errorClass, KILN_OUTSIDE_PROFILES);
  EXPECT_THAT(failure.message, HasSubstr("input \"x\": the artifact was built for the value [5,5,"));
  EXPECT_EQ(session.counters().guard_failures, 1u);
}

TEST(SessionWarmup, AWrongResultIsANumericalFailure) {
  TestArtifact files;
  files.writeFixtures(1.0f);
  Session session = sessionOf(files, 2, false);
  const auto failure = failureOf(session.warmup());
  EXPECT_EQ(failure.errorClass, KILN_NUMERICAL_CHECK_FAILED);
  EXPECT_THAT(failure.message,
              HasSubstr("warmup of profile \"default\": output \"y\" differs from default/output_0.npy: "
                        "1 of 2048 elements differ; worst at 2047"));
  EXPECT_FALSE(session.ready());
  EXPECT_EQ(failureOf(session.run(sampleInputs())).errorClass, KILN_NOT_READY);
}

TEST(SessionWarmup, NeedsFixtures) {
  TestArtifact files;
  Session session = sessionOf(files, 2, false);
  const auto failure = failureOf(session.warmup());
  EXPECT_EQ(failure.errorClass, KILN_NOT_READY);
  EXPECT_THAT(failure.message, HasSubstr("no fixtures to warm up with; fetch them"));
  files.writeFixtures();
  std::filesystem::resize_file(files / "fixtures/default/output_1.npy", 20);
  const auto damaged = failureOf(session.warmup());
  EXPECT_EQ(damaged.errorClass, KILN_INVALID_ARTIFACT);
  EXPECT_THAT(damaged.message, HasSubstr("output_1.npy"));
}

TEST(SessionErrors, TheProgramsStatusIsABackendFailure) {
  TestArtifact files;
  Session session = sessionOf(files);
  auto inputs = sampleInputs();
  const float magic = -1234.0f;
  std::memcpy(inputs[0].tensor.data.data(), &magic, sizeof magic);
  const auto failure = failureOf(session.run(inputs));
  EXPECT_EQ(failure.errorClass, KILN_BACKEND_FAILURE);
  EXPECT_THAT(failure.message, HasSubstr("status 7"));
}

TEST(SessionErrors, MemoryThatIsNotThere) {
  const std::pair<const char*, std::uint64_t> programs[] = {{"large_arena", 1ull << 55},
                                                            {"huge_arena", 1ull << 63}};
  for (const auto& [program, bytes] : programs) {
    TestArtifact files(program);
    files.manifest.profiles[0].arenaBytes = bytes;
    files.writeManifest();
    auto artifact = Artifact::open(files.path());
    ASSERT_TRUE(artifact) << artifact.error().message;
    const auto failure = failureOf(Session::open(*artifact, {.threads = 2}));
    EXPECT_EQ(failure.errorClass, KILN_ALLOCATION_FAILURE);
    EXPECT_THAT(failure.message, HasSubstr(std::to_string(bytes).substr(0, 6)));
  }
  for (const auto& [program, bytes] : {std::pair("large_scratch", std::uint64_t{1} << 55),
                                       std::pair("huge_scratch", std::uint64_t{1} << 63)}) {
    TestArtifact files(program);
    files.manifest.profiles[0].scratchBytes = bytes;
    files.writeManifest();
    auto artifact = Artifact::open(files.path());
    ASSERT_TRUE(artifact) << artifact.error().message;
    // Two times 2^63 is 0 in 64 bits.
    for (const std::uint32_t threads : {1u, 2u})
      EXPECT_EQ(failureOf(Session::open(*artifact, {.threads = threads})).errorClass,
                KILN_ALLOCATION_FAILURE);
  }
}

TEST(SessionErrors, ThreadsAreBounded) {
  TestArtifact files;
  auto artifact = Artifact::open(files.path());
  for (const std::uint32_t threads : {1025u, 5000u, UINT32_MAX})
    EXPECT_EQ(failureOf(Session::open(*artifact, {.threads = threads})).errorClass, KILN_INVALID_ARGUMENT);
  EXPECT_EQ(sessionOf(files, 1024).counters().threads, 1024u);
  cpu_set_t usable;
  ASSERT_EQ(::sched_getaffinity(0, sizeof usable, &usable), 0);
  EXPECT_EQ(sessionOf(files, 0).counters().threads, static_cast<unsigned>(CPU_COUNT(&usable)))
      << "one for each processor that the process may use";
}

// What was verified is what runs: the file may be overwritten or removed afterwards.
TEST(Session, RunsTheBytesThatWereVerified) {
  TestArtifact files;
  Session session = sessionOf(files);
  files.write("program.so", std::string(16384, '\xcc'));
  const auto outputs = session.run(sampleInputs());
  ASSERT_TRUE(outputs);
  EXPECT_EQ(valuesOf((*outputs)[0].tensor), expectedOutput(sampleInput()));
}

TEST(ArtifactErrors, FilesMustBeThereAndAsTheManifestSays) {
  {
    TestArtifact files;
    std::filesystem::remove(files / "manifest.json");
    EXPECT_EQ(openFailure(files).errorClass, KILN_INVALID_ARTIFACT);
  }
  {
    TestArtifact files;
    files.write("manifest.json", "{");
    EXPECT_EQ(openFailure(files).errorClass, KILN_INVALID_ARTIFACT);
    EXPECT_THAT(openFailure(files).message, HasSubstr("manifest.json"));
  }
  {
    TestArtifact files;
    std::filesystem::resize_file(files / "weights/0000.bin", 1020);
    EXPECT_EQ(openFailure(files).errorClass, KILN_INVALID_ARTIFACT);
    EXPECT_THAT(openFailure(files).message,
                HasSubstr("weights/0000.bin: not a regular file of the manifest's 1024 bytes"));
  }
  {
    TestArtifact files;
    std::filesystem::remove(files / "weights/0001.bin");
    std::filesystem::create_symlink("0000.bin", files / "weights/0001.bin");
    EXPECT_EQ(openFailure(files).errorClass, KILN_INVALID_ARTIFACT);
  }
  {
    TestArtifact files;
    std::fstream program(files / "program.so", std::ios::in | std::ios::out | std::ios::binary);
    program.seekp(-1, std::ios::end);
    program.put('\x7f');
    program.close();
    EXPECT_EQ(openFailure(files).errorClass, KILN_INVALID_ARTIFACT);
    EXPECT_THAT(openFailure(files).message, HasSubstr("digest is not the manifest's"));
  }
}

TEST(ArtifactErrors, TheTableMustAgreeWithTheManifest) {
  const auto message = [](auto change) {
    TestArtifact files;
    change(files.manifest);
    files.writeManifest();
    const Failure failure = openFailure(files);
    EXPECT_EQ(failure.errorClass, KILN_INVALID_ARTIFACT) << failure.message;
    return failure.message;
  };
  EXPECT_THAT(message([](Manifest& m) { m.profiles[0].arenaBytes = 1; }),
              HasSubstr("arena bytes 8192, the manifest says 1"));
  EXPECT_THAT(message([](Manifest& m) { m.profiles[0].scratchBytes = 1; }), HasSubstr("scratch bytes"));
  EXPECT_THAT(message([](Manifest& m) { m.outputs.pop_back(); }),
              HasSubstr("outputs 2, the manifest says 1"));
  EXPECT_THAT(message([](Manifest& m) {
                m.inputs.clear();
                m.symbols.clear();
              }),
              HasSubstr("inputs 1, the manifest says 0"));
  EXPECT_THAT(message([](Manifest& m) { m.weights.pop_back(); }),
              HasSubstr("weights 2, the manifest says 1"));
  EXPECT_THAT(message([](Manifest& m) { m.programAbi = 4; }),
              HasSubstr("ABI version 2, the manifest says 4"));
  EXPECT_THAT(message([](Manifest& m) { m.outputs[0].shape = {1ll << 50, 1ll << 50}; }),
              HasSubstr("no sane size"));
}

TEST(ArtifactErrors, TheTableLiesWithinTheProgram) {
  for (const char* name : {"profiles_misaligned", "profiles_behind"}) {
    const Failure failure = openFailure(TestArtifact(name));
    EXPECT_EQ(failure.errorClass, KILN_INVALID_ARTIFACT) << name;
    EXPECT_THAT(failure.message, HasSubstr("the program's profiles are outside its segments")) << name;
  }
}

TEST(ArtifactErrors, TargetsThisMachineCannotServe) {
  TestArtifact abi("wrong_abi");
  EXPECT_EQ(openFailure(abi).errorClass, KILN_UNSUPPORTED_TARGET);
  EXPECT_THAT(openFailure(abi).message, HasSubstr("ABI version 4"));
  TestArtifact machine("wrong_machine");
  EXPECT_EQ(openFailure(machine).errorClass, KILN_UNSUPPORTED_TARGET);
  TestArtifact constructor("constructor");
  EXPECT_EQ(openFailure(constructor).errorClass, KILN_INVALID_ARTIFACT);
}

TEST(CApi, NullArgumentsAndClasses) {
  kiln_artifact* artifact = nullptr;
  kiln_status* status = kiln_artifact_open(nullptr, &artifact);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(kiln_status_class(status), KILN_INVALID_ARGUMENT);
  EXPECT_STREQ(kiln_class_name(kiln_status_class(status)), "invalid argument");
  kiln_status_free(status);
  kiln_status_free(nullptr);
  kiln_artifact_close(nullptr);
  kiln_session_close(nullptr);
  for (int c = KILN_INVALID_ARGUMENT; c <= KILN_DEVICE_LOST; ++c) {
    EXPECT_EQ(errorClass(codeOf(static_cast<kiln_class>(c))), c);
    EXPECT_STRNE(kiln_class_name(static_cast<kiln_class>(c)), "unknown");
  }
}

}  // namespace
}  // namespace kiln::runtime::test
