// Shapes that differ between runs: symbols, profiles, padding, outputs whose shape depends on values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/compiler_core/runtime/dynamic_artifact.h"
#include "tests/compiler_core/runtime/failure.h"

namespace kiln::runtime::test {
namespace {

using testing::HasSubstr;

Session sessionOf(const TestArtifact& files,
                  kiln_session_options options = {.threads = 2, .run_before_ready = 1}) {
  auto artifact = Artifact::open(files.path());
  EXPECT_TRUE(artifact) << artifact.error().message;
  auto session = Session::open(*artifact, options);
  EXPECT_TRUE(session) << session.error().message;
  return std::move(*session);
}

std::vector<NamedTensor> inputsOf(std::int64_t rows, std::int64_t k) {
  return {{"x", floats({rows, kWidth}, dynamicInput(rows))}, {"k", integers({1}, {k})}};
}

void expectOutputs(Session& session, std::int64_t rows, std::int64_t k, bool found = false) {
  SCOPED_TRACE("N " + std::to_string(rows) + ", k " + std::to_string(k));
  const auto outputs = session.run(inputsOf(rows, k));
  ASSERT_TRUE(outputs) << outputs.error().message;
  const auto expected = expectedOutputs(rows, k);
  EXPECT_EQ((*outputs)[0].tensor, expected.y);
  EXPECT_EQ((*outputs)[1].tensor, expected.half);
  EXPECT_EQ((*outputs)[2].tensor, expected.total);
  if (found) {
    EXPECT_EQ((*outputs)[3].tensor, expected.found);
  }
}

TEST(Dynamic, EveryShapeOfEveryProfile) {
  DynamicArtifact files;
  for (const std::uint32_t threads : {1u, 3u}) {
    Session session = sessionOf(files, {.threads = threads, .run_before_ready = 1});
    for (std::int64_t rows = 0; rows <= 64; ++rows) {
      if (rows > 8 && rows < 16) continue;
      for (const std::int64_t k : {1, 2, 4}) expectOutputs(session, rows, k);
    }
    expectOutputs(session, 64, 8);
  }
}

TEST(Dynamic, SizesBetweenMultiplesAreOutside) {
  DynamicArtifact files;
  files.manifest.spec.profiles[0].dims["N"] = {0, 4, 8, 4};
  files.manifest.spec.profiles[1].dims["N"] = {16, 32, 64, 16};
  files.writeManifest();
  Session session = sessionOf(files);
  for (const std::int64_t rows : {0, 4, 8, 16, 48, 64}) expectOutputs(session, rows, 2);
  for (const std::int64_t rows : {1, 6, 24, 63})
    EXPECT_EQ(failureOf(session.run(inputsOf(rows, 2))).errorClass, KILN_OUTSIDE_PROFILES) << rows;
  EXPECT_THAT(
      failureOf(session.run(inputsOf(24, 2))).message,
      HasSubstr(
          "N is 24; profile small takes N from 0 to 8 in multiples of 4; large takes N from 16 to 64 in "
          "multiples of 16; build the artifact"));
}

TEST(Dynamic, TheInterfaceSaysWhatVaries) {
  DynamicArtifact files;
  const auto artifact = Artifact::open(files.path());
  ASSERT_TRUE(artifact);
  EXPECT_EQ(artifact->inputs()[0].shape, (std::vector<std::int64_t>{-1, 4}));
  EXPECT_EQ(artifact->outputs()[1].dims, std::vector<std::string>{"(N + 1) floordiv 2"});
  EXPECT_EQ(kiln_artifact_input(artifact->handle(), 0)->bytes, 0u);
  EXPECT_EQ(kiln_artifact_input(artifact->handle(), 1)->bytes, 8u);
  EXPECT_EQ(kiln_artifact_output(artifact->handle(), 2)->bytes, 4u) << "a tensor without dimensions";
}

TEST(Dynamic, OutsideEveryProfileNamesDimValueAndRanges) {
  DynamicArtifact files;
  Session session = sessionOf(files);
  auto failure = failureOf(session.run(inputsOf(12, 2)));
  EXPECT_EQ(failure.errorClass, KILN_OUTSIDE_PROFILES);
  EXPECT_EQ(
      failure.message,
      "input \"x\" dimension 0: N is 12; profile small takes N from 0 to 8; large takes N from 16 to 64; "
      "build the artifact with a profile for it");
  EXPECT_THAT(failureOf(session.run(inputsOf(65, 2))).message, HasSubstr("N is 65"));
  EXPECT_THAT(failureOf(session.run(inputsOf(2, 0))).message,
              HasSubstr("input \"k\" element 0: k[0] is 0; profile small takes k[0] from 1 to 4; large"));
  EXPECT_THAT(failureOf(session.run(inputsOf(2, INT64_MIN))).message,
              HasSubstr("k[0] is -9223372036854775808"));
  failure = failureOf(session.run(inputsOf(8, 8)));
  EXPECT_EQ(failure.errorClass, KILN_OUTSIDE_PROFILES);
  EXPECT_THAT(
      failure.message,
      HasSubstr("N is 8, input \"k\" element 0: k[0] is 8; no profile takes these together: small takes "
                "N from 0 to 8, k[0] from 1 to 4; large takes"));
  EXPECT_EQ(session.counters().guard_failures, 5u);
  EXPECT_EQ(session.counters().runs, 0u);
}

TEST(Dynamic, OneSymbolHasOneValue) {
  DynamicArtifact files;
  files.manifest.inputs[1].shape = {"N"};
  files.manifest.symbols[1] = {.name = "M", .input = "x", .index = 1};
  files.manifest.inputs[0].shape[1] = "M";
  for (auto& profile : files.manifest.spec.profiles) profile.dims["M"] = {1, 4, 4};
  files.writeManifest();
  Session session = sessionOf(files);
  const auto failure = failureOf(session.run(inputsOf(3, 1)));
  EXPECT_EQ(failure.errorClass, KILN_OUTSIDE_PROFILES);
  EXPECT_EQ(failure.message,
            "input \"k\" dimension 0: N is 1, but 3 at input \"x\" dimension 0; give both the same size");
}

TEST(Dynamic, SmallerSizesArePaddedToTheNextProfile) {
  DynamicArtifact files("pad");
  Session session = sessionOf(files);
  for (std::int64_t rows = 0; rows <= 64; ++rows) expectOutputs(session, rows, 2);
  expectOutputs(session, 3, 8);  // k does not fit small
  const auto profiles = session.profiles();
  ASSERT_EQ(profiles.size(), 2u);
  EXPECT_EQ(profiles[0].runs, 9u);
  EXPECT_EQ(profiles[0].padded_runs, 0u);
  EXPECT_EQ(profiles[1].runs, 57u);
  EXPECT_EQ(profiles[1].padded_runs, 8u);
  EXPECT_STREQ(session.counters().path, "cpu:x86-64-v3 profile large");
  const auto beyond = failureOf(session.run(inputsOf(65, 2)));
  EXPECT_EQ(beyond.errorClass, KILN_OUTSIDE_PROFILES);
  EXPECT_EQ(failureOf(session.run(inputsOf(12, 0))).errorClass, KILN_OUTSIDE_PROFILES)
      << "a value is never padded";
}

TEST(Dynamic, PaddingIsCounted) {
  DynamicArtifact files("pad");
  Session session = sessionOf(files);
  expectOutputs(session, 16, 2);
  EXPECT_EQ(session.counters().padding_bytes, 0u);
  EXPECT_EQ(session.counters().tensor_bytes, 16u * 16 + 8 + 16 * 8 + 8 * 4 + 4);
  expectOutputs(session, 10, 2);  // padded to 16
  EXPECT_EQ(session.counters().tensor_bytes, 2 * (16u * 16 + 8 + 16 * 8 + 8 * 4 + 4));
  EXPECT_EQ(session.counters().padding_bytes, 6u * 16 + 6 * 8 + 3 * 4);
}

// What is below a profile is rounded up to its least size, not to the next multiple.
TEST(Dynamic, OnlyMultiplesArePadded) {
  DynamicArtifact files("pad");
  files.manifest.spec.profiles[1].dims["N"] = {16, 32, 64, 4};
  files.writeManifest();
  Session session = sessionOf(files);
  expectOutputs(session, 12, 2);
  EXPECT_EQ(failureOf(session.run(inputsOf(10, 2))).errorClass, KILN_OUTSIDE_PROFILES);
}

TEST(Dynamic, PaddingIsZeroWhateverRanBefore) {
  DynamicArtifact files("pad");
  Session session = sessionOf(files);
  for (const std::int64_t rows : {64, 15, 9, 12, 10, 64, 11}) expectOutputs(session, rows, 2);
}

TEST(Dynamic, AnInputTooLargeToBePaddedIsRefused) {
  DynamicArtifact files("pad");
  files.manifest.inputs[0].shape = {"N", 1024};
  files.manifest.spec.profiles[1].dims["N"] = {kMaxJsonInteger, kMaxJsonInteger, kMaxJsonInteger};
  files.writeManifest();
  Session session = sessionOf(files);
  const auto failure = failureOf(
      session.run({{"x", floats({9, 1024}, std::vector<float>(9 * 1024))}, {"k", integers({1}, {1})}}));
  EXPECT_EQ(failure.errorClass, KILN_INVALID_ARGUMENT);
  EXPECT_EQ(failure.message, "input \"x\" is too large to be padded");
}

TEST(Dynamic, OnlySymbolsThatMayBePadded) {
  DynamicArtifact files("pad");
  files.manifest.symbols[0].pad = false;
  files.writeManifest();
  Session session = sessionOf(files);
  EXPECT_EQ(failureOf(session.run(inputsOf(12, 2))).errorClass, KILN_OUTSIDE_PROFILES);
}

TEST(Dynamic, ShapesThatDependOnValues) {
  DynamicArtifact files("fail", true);
  Session session = sessionOf(files);
  for (const std::int64_t rows : {0, 1, 2, 3, 8, 16, 64}) expectOutputs(session, rows, 3, true);

  // The bound before the run, the shape after it.
  const auto x = dynamicInput(6);
  const std::int64_t k = 1, xShape[] = {6, 4}, kShape[] = {1};
  const kiln_tensor inputs[] = {{"x", "f32", xShape, 2, x.data(), x.size() * 4},
                                {"k", "i64", kShape, 1, &k, 8}};
  std::int64_t shapes[4] = {}, found[6];
  float y[6], half[3], total[1];
  kiln_output outputs[] = {{"y", "f32", y, sizeof y, shapes, 2, 0},
                           {"half", "f32", half, sizeof half, shapes + 2, 1, 0},
                           {"total", "f32", total, sizeof total, nullptr, 0, 0},
                           {"found", "i64", found, sizeof found, shapes + 3, 1, 0}};
  ASSERT_EQ(kiln_session_output_shapes(session.handle(), inputs, 2, outputs, 4), nullptr);
  EXPECT_EQ(shapes[3], 6);
  EXPECT_EQ(outputs[3].bytes, 48u);
  ASSERT_EQ(kiln_session_run(session.handle(), inputs, 2, outputs, 4), nullptr);
  EXPECT_EQ(shapes[3], 4);
  EXPECT_EQ(outputs[3].bytes, 32u);
  EXPECT_EQ(found[3], 4);

  outputs[3].capacity = 47;
  kiln_status* status = kiln_session_run(session.handle(), inputs, 2, outputs, 4);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(kiln_status_class(status), KILN_INVALID_ARGUMENT);
  EXPECT_STREQ(kiln_status_message(status),
               "output \"found\": the buffer has 47 bytes, 48 are needed for i64[6]");
  kiln_status_free(status);
}

TEST(Dynamic, ShapesCanBeAskedWithoutDataThatNoSizeDependsOn) {
  DynamicArtifact files;
  Session session = sessionOf(files);
  std::int64_t k = 2, shapes[3] = {};
  const std::int64_t xShape[] = {7, 4}, kShape[] = {1};
  kiln_tensor inputs[] = {{"x", "f32", xShape, 2, nullptr, 0}, {"k", "i64", kShape, 1, &k, 8}};
  kiln_output outputs[] = {{"y", "f32", nullptr, 0, shapes, 2, 0},
                           {"half", "f32", nullptr, 0, shapes + 2, 1, 0},
                           {"total", "f32", nullptr, 0, nullptr, 0, 0}};
  ASSERT_EQ(kiln_session_output_shapes(session.handle(), inputs, 2, outputs, 3), nullptr);
  EXPECT_THAT(shapes, testing::ElementsAre(7, 2, 4));
  EXPECT_EQ(outputs[2].bytes, 4u);
  inputs[1].data = nullptr;
  kiln_status* status = kiln_session_output_shapes(session.handle(), inputs, 2, outputs, 3);
  ASSERT_NE(status, nullptr);
  EXPECT_THAT(kiln_status_message(status), HasSubstr("input \"k\""));
  kiln_status_free(status);
  inputs[1].data = &k;
  outputs[0].rank = 1;
  status = kiln_session_output_shapes(session.handle(), inputs, 2, outputs, 3);
  ASSERT_NE(status, nullptr);
  EXPECT_STREQ(kiln_status_message(status),
               "output \"y\": expected f32[N,k[0]], given room for 1 dimensions");
  kiln_status_free(status);
}

TEST(Dynamic, AbsurdSizesAreRefused) {
  DynamicArtifact files;
  for (auto& profile : files.manifest.spec.profiles) profile.dims["N"] = {0, 1, kMaxJsonInteger};
  files.writeManifest();
  Session session = sessionOf(files);
  const std::int64_t k = 1, kShape[] = {1};
  for (const std::int64_t rows : {std::int64_t{1} << 52, std::int64_t{1} << 62, std::int64_t{-1}}) {
    const std::int64_t xShape[] = {rows, 4};
    const float none = 0;
    const kiln_tensor inputs[] = {{"x", "f32", xShape, 2, &none, 16}, {"k", "i64", kShape, 1, &k, 8}};
    std::int64_t shapes[3];
    kiln_output outputs[] = {{"y", "f32", nullptr, 0, shapes, 2, 0},
                             {"half", "f32", nullptr, 0, shapes + 2, 1, 0},
                             {"total", "f32", nullptr, 0, nullptr, 0, 0}};
    kiln_status* status = kiln_session_run(session.handle(), inputs, 2, outputs, 3);
    ASSERT_NE(status, nullptr) << rows;
    kiln_status_free(status);
  }
}

TEST(Dynamic, TheProgramsStatuses) {
  DynamicArtifact files("fail", true);
  Session session = sessionOf(files);
  const auto message = [&](float first) {
    auto inputs = inputsOf(4, 1);
    std::memcpy(inputs[0].tensor.data.data(), &first, sizeof first);
    const auto failure = failureOf(session.run(inputs));
    EXPECT_EQ(failure.errorClass, KILN_BACKEND_FAILURE);
    return failure.message;
  };
  EXPECT_THAT(message(-1), HasSubstr("larger than the program was built for"));
  EXPECT_THAT(message(-2), HasSubstr("does not allow"));
  EXPECT_THAT(message(-3), HasSubstr("status 99"));
  EXPECT_EQ(message(-4), "the program gave its output \"found\" the shape [5] after stating [4]");
  expectOutputs(session, 4, 1, true);
}

TEST(Dynamic, KernelsAreMeasuredByName) {
  DynamicArtifact files;
  Session silent = sessionOf(files);
  expectOutputs(silent, 4, 1);
  EXPECT_TRUE(silent.kernels().empty());
  Session session = sessionOf(files, {.threads = 2, .run_before_ready = 1, .measure_kernels = 1});
  EXPECT_TRUE(session.kernels().empty());
  expectOutputs(session, 4, 1);
  expectOutputs(session, 16, 1);
  const auto kernels = session.kernels();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_STREQ(kernels[0].symbol, "copy_row");
  EXPECT_STREQ(kernels[1].symbol, "scale_row");
  EXPECT_EQ(kernels[1].calls, 2u);
  EXPECT_EQ(kernels[1].tasks, 20u);
  EXPECT_GT(kernels[0].nanoseconds, 0u);
  EXPECT_LE(kernels[0].nanoseconds + kernels[1].nanoseconds, session.counters().run_nanoseconds);
}

TEST(Dynamic, SpansAreKeptWhereTheyAreAskedFor) {
  DynamicArtifact files;
  Session measured = sessionOf(files, {.threads = 2, .run_before_ready = 1, .measure_kernels = 1});
  expectOutputs(measured, 4, 1);
  EXPECT_TRUE(measured.spans().kept.empty());
  Session session =
      sessionOf(files, {.threads = 2, .run_before_ready = 1, .measure_kernels = KILN_MEASURE_SPANS});
  expectOutputs(session, 4, 1);
  expectOutputs(session, 16, 1);
  const auto spans = session.spans();
  EXPECT_EQ(spans.left, 0u);
  std::uint64_t tasks = 0, runs = 0, inside = 0;
  for (const kiln_span& span : spans.kept) {
    if (span.symbol == nullptr) {
      EXPECT_EQ(span.run, runs++);
    } else if (span.symbol == std::string_view("scale_row")) {
      EXPECT_EQ(span.run, runs) << "a run ends after its kernels";
      EXPECT_GE(span.thread, 0);
      EXPECT_LT(span.thread, 2);
      tasks += span.tasks;
      ++inside;
    }
  }
  EXPECT_EQ(runs, 2u);
  EXPECT_EQ(tasks, 20u);
  EXPECT_GE(inside, 2u);
  EXPECT_EQ(session.kernels()[1].tasks, 20u);
}

TEST(Dynamic, MemoryPerProfile) {
  DynamicArtifact files;
  Session session = sessionOf(files);
  auto profiles = session.profiles();
  EXPECT_STREQ(profiles[0].name, "small");
  EXPECT_EQ(profiles[0].planned_bytes, 128u + 2 * 64);
  EXPECT_EQ(profiles[1].planned_bytes, 1024u + 2 * 64);
  EXPECT_EQ(session.counters().planned_bytes, 1024u + 2 * 64) << "profiles share one arena";
  EXPECT_EQ(profiles[0].observed_peak_bytes, 0u);
  expectOutputs(session, 64, 1);
  expectOutputs(session, 8, 1);
  profiles = session.profiles();
  EXPECT_EQ(profiles[0].observed_peak_bytes, profiles[0].planned_bytes)
      << "whole pages, never beyond the plan";
  EXPECT_EQ(profiles[1].observed_peak_bytes, profiles[1].planned_bytes);
}

// programs/dynamic.c with profiles whose plans have many pages, of which a run of few rows touches few.
TEST(Dynamic, WhatOneProfileTouchedIsNotCountedForAnother) {
  DynamicArtifact files;
  std::filesystem::copy_file(std::string(KILN_TEST_PROGRAMS) + "/dynamic_paged.so", files / "program.so",
                             std::filesystem::copy_options::overwrite_existing);
  files.manifest.program.digest = *digestOfFile(files / "program.so");
  files.manifest.profiles[0].arenaBytes = 16384 * kWidth * sizeof(float);
  files.manifest.profiles[1].arenaBytes = 65536 * kWidth * sizeof(float);
  files.manifest.spec.profiles[1].dims["N"] = {16, 32, 65536};
  files.writeManifest();
  Session session = sessionOf(files, {.threads = 1, .run_before_ready = 1});
  expectOutputs(session, 1, 1);
  const std::uint64_t small = session.profiles()[0].observed_peak_bytes;
  EXPECT_GT(small, 0u);
  EXPECT_LT(small, session.profiles()[0].planned_bytes);
  const std::vector<float> x(65536 * kWidth, 1);
  ASSERT_TRUE(session.run({{"x", floats({65536, kWidth}, x)}, {"k", integers({1}, {1})}}));
  EXPECT_GE(session.profiles()[1].observed_peak_bytes, 65536 * kWidth * sizeof(float));
  expectOutputs(session, 1, 1);
  EXPECT_EQ(session.profiles()[0].observed_peak_bytes, small);
}

TEST(Dynamic, WarmupRunsEachProfilesOwnFixture) {
  DynamicArtifact files("fail", true);
  const auto save = [&](const std::string& name, const npy::Tensor& tensor) {
    std::filesystem::create_directories(std::filesystem::path(files / ("fixtures/" + name)).parent_path());
    ASSERT_TRUE(npy::write(files / ("fixtures/" + name), tensor));
  };
  const auto saveProfile = [&](const std::string& name, std::int64_t rows, std::int64_t k) {
    const auto expected = expectedOutputs(rows, k);
    save(name + "/input_0.npy", floats({rows, kWidth}, dynamicInput(rows)));
    save(name + "/input_1.npy", integers({1}, {k}));
    save(name + "/output_0.npy", expected.y);
    save(name + "/output_1.npy", expected.half);
    save(name + "/output_2.npy", expected.total);
    save(name + "/output_3.npy", expected.found);
  };
  Json list{{"version", "1"},
            {"profiles", Json::array()},
            {"files", Json::array()},
            {"tolerance", {{"rtol", "1e-3"}, {"atol", "1e-5"}}}};
  const auto writeList = [&] {
    list["files"] = Json::array();
    list["profiles"] = Json::array();
    for (const char* profile : {"large", "small"}) {
      Json inputs = Json::array(), outputs = Json::array();
      for (const char* file : {"input_0", "input_1", "output_0", "output_1", "output_2", "output_3"}) {
        const std::string path = std::string(profile) + "/" + file + ".npy";
        const Digest digest = digestOfFile(files / ("fixtures/" + path)).value();
        list["files"].push_back(
            {{"path", path}, {"digest", digest.text()}, {"size", std::to_string(digest.size)}});
        (file[0] == 'i' ? inputs : outputs).push_back(path);
      }
      list["profiles"].push_back({{"name", profile}, {"inputs", inputs}, {"outputs", outputs}});
    }
    files.write("fixtures/fixtures.json", list.dump());
  };
  saveProfile("small", 4, 1);
  saveProfile("large", 32, 4);
  writeList();
  Session session = sessionOf(files, {.threads = 2});
  const Status warm = session.warmup();
  ASSERT_TRUE(warm) << warm.error().message;
  EXPECT_EQ(session.counters().runs, 0u);
  EXPECT_EQ(session.counters().tensor_bytes, 0u) << "counters tell of the caller's runs";
  EXPECT_GT(session.profiles()[0].observed_peak_bytes, 0u);

  save("large/output_3.npy", integers({2}, {0, 1}));
  writeList();
  auto failure = failureOf(session.warmup());
  EXPECT_EQ(failure.errorClass, KILN_NUMERICAL_CHECK_FAILED);
  EXPECT_EQ(failure.message,
            "warmup of profile \"large\": output \"found\" differs from large/output_3.npy: got i64[22], "
            "expected i64[2]");
  saveProfile("large", 4, 1);
  writeList();
  failure = failureOf(session.warmup());
  EXPECT_EQ(failure.errorClass, KILN_INVALID_ARTIFACT) << "of another profile: the artifact's fault";
  EXPECT_THAT(failure.message, HasSubstr("N is 4"));
}

TEST(Dynamic, SessionsShareOneMappingOfTheWeights) {
  TestArtifact files;
  auto artifact = Artifact::open(files.path());
  ASSERT_TRUE(artifact);
  const auto mappings = [&] {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);) count += line.ends_with("weights/0000.bin") ? 1 : 0;
    return count;
  };
  EXPECT_EQ(mappings(), 1);
  std::vector<Session> sessions;
  for (int i = 0; i < 4; ++i)
    sessions.push_back(*Session::open(*artifact, {.threads = 2, .run_before_ready = 1}));
  EXPECT_EQ(mappings(), 1);
  std::vector<std::thread> threads;
  for (Session& session : sessions) {
    threads.emplace_back([&session] {
      for (int repeat = 0; repeat < 20; ++repeat) {
        const auto outputs = session.run({{"x", floats({kRows, kColumns}, sampleInput())}});
        ASSERT_TRUE(outputs) << outputs.error().message;
        EXPECT_EQ(valuesOf((*outputs)[0].tensor), expectedOutput(sampleInput()));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

// Sessions of one artifact run at once, each with its own shapes.
TEST(Dynamic, ConcurrentSessions) {
  DynamicArtifact files("pad");
  auto artifact = Artifact::open(files.path());
  ASSERT_TRUE(artifact);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&artifact, i] {
      auto session = Session::open(*artifact, {.threads = 2, .run_before_ready = 1});
      ASSERT_TRUE(session);
      for (std::int64_t rows = i; rows < 64; rows += 4) expectOutputs(*session, rows, 2);
    });
  }
  for (auto& thread : threads) thread.join();
}

struct Abi1Artifact : TestArtifact {
  Abi1Artifact() : TestArtifact("abi1") {
    manifest.programAbi = 1;
    manifest.symbols.clear();
    manifest.inputs = {{"x", DType::kF32, {4}, {"N"}}};
    manifest.outputs = {{"y", DType::kF32, {4}, {"N"}}};
    manifest.profiles = {{"default", 0, 0}};
    manifest.weights.clear();
    writeManifest();
  }
};

TEST(Dynamic, ProgramsOfAbi1StillRun) {
  Abi1Artifact files;
  Session session = sessionOf(files);
  const auto outputs = session.run({{"x", floats({4}, {1, 2, 3, 4})}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ((*outputs)[0].tensor, floats({4}, {2, 3, 4, 5}));
  const auto failure = failureOf(session.run({{"x", floats({2}, {1, 2})}}));
  EXPECT_EQ(failure.errorClass, KILN_OUTSIDE_PROFILES);
  EXPECT_EQ(failure.message, "input \"x\": expected f32[4], given f32[2]");
}

TEST(DynamicErrors, TheTableOfAbi1MustAgreeWithTheManifest) {
  const auto message = [](auto change) {
    Abi1Artifact files;
    change(files.manifest);
    files.writeManifest();
    const auto failure = failureOf(Artifact::open(files.path()));
    EXPECT_EQ(failure.errorClass, KILN_INVALID_ARTIFACT);
    return failure.message;
  };
  EXPECT_THAT(message([](Manifest& m) { m.profiles[0].arenaBytes = 64; }),
              HasSubstr("arena bytes 0, the manifest says 64"));
  EXPECT_THAT(message([](Manifest& m) { m.profiles[0].scratchBytes = 64; }),
              HasSubstr("scratch bytes 0, the manifest says 64"));
  EXPECT_THAT(message([](Manifest& m) { m.outputs.clear(); }), HasSubstr("outputs 1, the manifest says 0"));
}

TEST(DynamicErrors, TheTableMustAgreeWithTheManifest) {
  const auto message = [](auto change) {
    DynamicArtifact files;
    change(files.manifest);
    files.writeManifest();
    const auto failure = failureOf(Artifact::open(files.path()));
    EXPECT_EQ(failure.errorClass, KILN_INVALID_ARTIFACT);
    return failure.message;
  };
  EXPECT_THAT(message([](Manifest& m) { m.symbols.pop_back(); }),
              HasSubstr("symbols 2, the manifest says 1"));
  EXPECT_THAT(message([](Manifest& m) { m.outputs[1].shape.push_back(1); }),
              HasSubstr("output dimensions 3, the manifest says 4"));
  EXPECT_THAT(message([](Manifest& m) {
                m.profiles.pop_back();
                m.spec.profiles.pop_back();
              }),
              HasSubstr("profiles 2, the manifest says 1"));
  EXPECT_THAT(message([](Manifest& m) { m.profiles[1].arenaBytes = 4096; }), HasSubstr("arena bytes 1024"));
  EXPECT_THAT(message([](Manifest& m) { m.spec.profiles[1].dims.erase("N"); }), HasSubstr("no range for N"));
}

// A fixed dimension of the manifest is a fact that the program must not contradict.
TEST(DynamicErrors, StatedShapesMustFitTheManifest) {
  DynamicArtifact files;
  files.manifest.outputs[1].shape = {3};
  files.writeManifest();
  Session session = sessionOf(files);
  const auto failure = failureOf(session.run(inputsOf(8, 1)));
  EXPECT_EQ(failure.errorClass, KILN_BACKEND_FAILURE);
  EXPECT_EQ(failure.message, "the program states the shape [4] for its output \"half\", which cannot be");
}

}  // namespace
}  // namespace kiln::runtime::test
