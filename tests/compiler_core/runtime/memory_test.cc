// What keeps a session inside its own memory: buffers that grow, sizes and places of the caller's buffers,
// where a program's entries may lie, weights in their order, and that nothing unchecked runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "compiler_core/runtime/program/weights.h"
#include "compiler_core/runtime/session/guards.h"
#include "tests/compiler_core/runtime/dynamic_artifact.h"
#include "tests/compiler_core/runtime/failure.h"

namespace kiln::runtime::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

Failure openFailure(const ArtifactFolder& files) {
  return failureOf(Artifact::open(files.path()));
}

Session sessionOf(const ArtifactFolder& files) {
  auto artifact = Artifact::open(files.path());
  EXPECT_TRUE(artifact) << artifact.error().message;
  auto session = Session::open(*artifact, {.threads = 2, .run_before_ready = 1});
  EXPECT_TRUE(session) << session.error().message;
  return std::move(*session);
}

// programs/dynamic.c with a second profile of up to 2^18 rows: its tensors are megabytes, so that what is
// written into a buffer of a few rows' size does not stay inside a page.
class WideArtifact : public DynamicArtifact {
 public:
  static constexpr std::int64_t kRows = 1 << 18;
  explicit WideArtifact(const std::string& outOfProfile) : DynamicArtifact(outOfProfile) {
    std::filesystem::copy_file(std::string(KILN_TEST_PROGRAMS) + "/dynamic_wide.so",
                               directory_ / "program.so", std::filesystem::copy_options::overwrite_existing);
    manifest.program.digest = *digestOfFile(directory_ / "program.so");
    manifest.spec.profiles[1].dims["N"] = {16, 32, kRows};
    manifest.profiles[1].arenaBytes = kRows * kWidth * sizeof(float);
    writeManifest();
  }
};

// A buffer that is never aligned to 64 bytes, so that the session copies it.
class Unaligned {
 public:
  explicit Unaligned(std::size_t bytes) : memory_(bytes + 128, 0xAB) {
    const auto place = reinterpret_cast<std::uintptr_t>(memory_.data());
    data_ = memory_.data() + (64 - place % 64) + 4;
  }
  void* data() { return data_; }

 private:
  std::vector<std::uint8_t> memory_;
  std::uint8_t* data_;
};

// One run through the C API with copied buffers on both sides; compares all outputs.
void runUnaligned(Session& session, std::int64_t rows, std::int64_t k) {
  SCOPED_TRACE("N " + std::to_string(rows) + ", k " + std::to_string(k));
  const auto x = floats({rows, kWidth}, dynamicInput(rows));
  const auto want = expectedOutputs(rows, k);
  Unaligned in(x.data.size()), number(8), y(want.y.data.size()), half(want.half.data.size()), total(4);
  if (rows != 0) std::memcpy(in.data(), x.data.data(), x.data.size());
  std::memcpy(number.data(), &k, sizeof k);
  const std::int64_t one[] = {1};
  const kiln_tensor inputs[] = {{"x", "f32", x.shape.data(), 2, in.data(), x.data.size()},
                                {"k", "i64", one, 1, number.data(), 8}};
  std::int64_t shapes[3] = {};
  kiln_output outputs[] = {{"y", "f32", y.data(), want.y.data.size(), shapes, 2, 0},
                           {"half", "f32", half.data(), want.half.data.size(), shapes + 2, 1, 0},
                           {"total", "f32", total.data(), 4, nullptr, 0, 0}};
  kiln_status* const status = kiln_session_run(session.handle(), inputs, 2, outputs, 3);
  ASSERT_EQ(status, nullptr) << kiln_status_message(status);
  EXPECT_EQ(outputs[0].bytes, want.y.data.size());
  EXPECT_EQ(std::memcmp(y.data(), want.y.data.data(), want.y.data.size()), 0);
  EXPECT_EQ(std::memcmp(half.data(), want.half.data.data(), want.half.data.size()), 0);
}

TEST(Memory, CopiesOfTensorsGrowWithLaterRuns) {
  WideArtifact files("fail");
  Session session = sessionOf(files);
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{8}, std::int64_t{100}, WideArtifact::kRows,
                                  std::int64_t{16}, WideArtifact::kRows - 1}) {
    runUnaligned(session, rows, 1);
    runUnaligned(session, rows, 4);
  }
}

TEST(Memory, CopiesOfPaddedTensorsGrowToTheProfilesLeast) {
  WideArtifact files("pad");
  files.manifest.spec.profiles[1].dims["N"] = {WideArtifact::kRows, WideArtifact::kRows, WideArtifact::kRows};
  files.writeManifest();
  Session session = sessionOf(files);
  runUnaligned(session, 2, 1);
  runUnaligned(session, 9, 1);  // padded to 2^18 rows
  runUnaligned(session, 9, 8);
  runUnaligned(session, 1, 1);
}

// Calls of programs/good.c with buffers at places of one block of memory.
class Buffers : public testing::Test {
 protected:
  static constexpr std::size_t kTensor = kRows * kColumns * sizeof(float), kState = (kRows + 1) * 4;

  // The message of a run with x, y and state at these places, "" for success.
  std::string run(void* x, void* y, void* state, std::size_t yBytes = kTensor,
                  std::size_t stateBytes = kState, std::size_t xBytes = kTensor) {
    const std::int64_t shape[] = {kRows, kColumns};
    std::int64_t shapes[3] = {};
    const kiln_tensor input{"x", "f32", shape, 2, x, xBytes};
    kiln_output outputs[] = {{"y", "f32", y, yBytes, shapes, 2, 0},
                             {"state", "u32", state, stateBytes, shapes + 2, 1, 0}};
    kiln_status* const status = kiln_session_run(session_.handle(), &input, 1, outputs, 2);
    if (status == nullptr) return {};
    EXPECT_EQ(kiln_status_class(status), KILN_INVALID_ARGUMENT);
    std::string message = kiln_status_message(status);
    kiln_status_free(status);
    return message;
  }

  TestArtifact files_;
  Session session_ = sessionOf(files_);
  std::vector<std::uint8_t> block_ = std::vector<std::uint8_t>(4 * kTensor);
};

TEST_F(Buffers, NoOutputOverlapsAnything) {
  std::uint8_t* const at = block_.data() + kTensor;
  std::vector<std::uint8_t> elsewhere(kTensor);
  const std::string y = "output \"y\" overlaps", state = "output \"state\" overlaps";
  // With the input: the same place, one byte at either end, inside, around.
  EXPECT_THAT(run(at, at, elsewhere.data()), HasSubstr(y));
  EXPECT_THAT(run(at, at + kTensor - 1, elsewhere.data()), HasSubstr(y));
  EXPECT_THAT(run(at, at - kTensor + 1, elsewhere.data()), HasSubstr(y));
  EXPECT_THAT(run(at, elsewhere.data(), at + 100), HasSubstr(state));
  // With each other.
  EXPECT_THAT(run(elsewhere.data(), at, at), HasSubstr(state));
  EXPECT_THAT(run(elsewhere.data(), at, at + kTensor - 1), HasSubstr(state));
  EXPECT_THAT(run(elsewhere.data(), at, at - kState + 1), HasSubstr(state));
  EXPECT_THAT(run(elsewhere.data(), at, at + kTensor / 2), HasSubstr(state));
  // Side by side is no overlap.
  EXPECT_EQ(run(at, at + kTensor, at - kState), "");
  EXPECT_EQ(run(elsewhere.data(), at, at + kTensor), "");
}

TEST_F(Buffers, SizesAreExactForInputsAndEnoughForOutputs) {
  std::uint8_t* const x = block_.data();
  std::uint8_t* const y = x + kTensor;
  std::uint8_t* const state = y + kTensor;
  EXPECT_EQ(run(x, y, state), "");
  EXPECT_EQ(run(x, y, state, kTensor + 1, kState + 1), "") << "an output may have more room";
  EXPECT_THAT(run(x, y, state, kTensor - 1), HasSubstr("output \"y\": the buffer has 8191 bytes, 8192 are"));
  EXPECT_THAT(run(x, y, state, kTensor, kState - 1), HasSubstr("output \"state\": the buffer has 35 bytes"));
  EXPECT_THAT(run(x, y, state, 0), HasSubstr("the buffer has 0 bytes"));
  EXPECT_THAT(run(x, nullptr, state), HasSubstr("output \"y\": the buffer has"));
  EXPECT_THAT(run(x, y, state, kTensor, kState, kTensor + 1), HasSubstr("8193 bytes, 8192 are needed"));
  EXPECT_THAT(run(x, y, state, kTensor, kState, kTensor - 1), HasSubstr("8191 bytes, 8192 are needed"));
  EXPECT_THAT(run(nullptr, y, state), HasSubstr("input \"x\": the buffer has"));
}

TEST(Memory, SizesThatNoMemoryHasAreNoSizes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  EXPECT_EQ(tensorBytes(DType::kF32, std::vector<std::int64_t>{kMost - 1}), 4 * (kMost - 1));
  EXPECT_FALSE(tensorBytes(DType::kF32, std::vector<std::int64_t>{kMost}));
  EXPECT_FALSE(tensorBytes(DType::kF32, std::vector<std::int64_t>{INT64_MAX}));
  EXPECT_FALSE(tensorBytes(DType::kU8, std::vector<std::int64_t>{1ll << 32, 1ll << 32})) << "2^64 wraps to 0";
  EXPECT_FALSE(tensorBytes(DType::kU8, std::vector<std::int64_t>{1ll << 62, 4, 4}));
  EXPECT_FALSE(tensorBytes(DType::kU8, std::vector<std::int64_t>{-1}));
  EXPECT_EQ(tensorBytes(DType::kF64, std::vector<std::int64_t>{}), 8u);
  EXPECT_EQ(tensorBytes(DType::kF32, std::vector<std::int64_t>{1000, 0}), 0u);
}

TEST(Memory, AShapeFromTheCallerThatNoMemoryHoldsIsRefused) {
  DynamicArtifact files;
  Session session = sessionOf(files);
  const std::int64_t shape[] = {std::int64_t{1} << 61, kWidth}, one[] = {1};
  const std::int64_t k = 1;
  const kiln_tensor inputs[] = {{"x", "f32", shape, 2, &k, 8}, {"k", "i64", one, 1, &k, 8}};
  float y[8];
  std::int64_t shapes[3] = {};
  kiln_output outputs[] = {{"y", "f32", y, sizeof y, shapes, 2, 0},
                           {"half", "f32", y, sizeof y, shapes + 2, 1, 0},
                           {"total", "f32", y, sizeof y, nullptr, 0, 0}};
  kiln_status* const status = kiln_session_run(session.handle(), inputs, 2, outputs, 3);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(kiln_status_class(status), KILN_OUTSIDE_PROFILES);
  kiln_status_free(status);
}

// What has no bytes lies nowhere.
TEST(Memory, AnEmptyTensorOverlapsNothing) {
  DynamicArtifact files;
  Session session = sessionOf(files);
  const std::int64_t xShape[] = {0, kWidth}, one[] = {1}, k = 1;
  float total[1];
  std::uint8_t* const inside = reinterpret_cast<std::uint8_t*>(total) + 1;
  const kiln_tensor inputs[] = {{"x", "f32", xShape, 2, inside, 0}, {"k", "i64", one, 1, &k, 8}};
  std::int64_t shapes[3] = {};
  kiln_output outputs[] = {{"y", "f32", inside, 0, shapes, 2, 0},
                           {"half", "f32", inside, 0, shapes + 2, 1, 0},
                           {"total", "f32", total, sizeof total, nullptr, 0, 0}};
  kiln_status* const status = kiln_session_run(session.handle(), inputs, 2, outputs, 3);
  EXPECT_EQ(status, nullptr) << kiln_status_message(status);
  kiln_status_free(status);
}

// Entries in data, in writable data, and outside every segment: nothing of the program may run.
TEST(Memory, AnEntryOutsideTheCodeIsRefused) {
  for (const char* name :
       {"run_in_data", "run_in_writable", "run_behind", "run_before", "shapes_in_data", "shapes_behind"}) {
    const Failure failure = openFailure(TestArtifact(name));
    EXPECT_EQ(failure.errorClass, KILN_INVALID_ARTIFACT) << name;
    EXPECT_THAT(failure.message, AnyOf(HasSubstr("the program's entry is outside its code"),
                                       HasSubstr("a relocation points outside the program")))
        << name;
  }
  TestArtifact first("abi1_run_in_data");
  first.manifest.programAbi = 1;
  first.manifest.symbols.clear();
  first.manifest.inputs = {{"x", DType::kF32, {4}, {""}}};
  first.manifest.outputs = {{"y", DType::kF32, {4}, {""}}};
  first.manifest.spec.profiles = {{"default", {}}};
  first.manifest.profiles = {{"default", 0, 0}};
  first.manifest.weights.clear();
  first.writeManifest();
  EXPECT_THAT(openFailure(first).message, HasSubstr("the program's entry is outside its code"));
}

// Whatever order but the program's own: refused before anything is mapped.
TEST(Memory, WeightsInAnotherOrderAreRefused) {
  const auto message = [](auto change) {
    TestArtifact files;
    files.write("weights/0002.bin", std::string(8, 'w'));
    change(files.manifest.weights);
    files.writeManifest();
    const Failure failure = openFailure(files);
    EXPECT_EQ(failure.errorClass, KILN_INVALID_ARTIFACT) << failure.message;
    return failure.message;
  };
  EXPECT_THAT(message([](auto& weights) { std::swap(weights[0], weights[1]); }),
              HasSubstr("manifest.json: weights/0001.bin stands where weights/0000.bin belongs"));
  EXPECT_THAT(message([](auto& weights) { weights[1].path = "weights/0002.bin"; }),
              HasSubstr("weights/0002.bin stands where weights/0001.bin belongs"));
  EXPECT_THAT(message([](auto& weights) { weights.erase(weights.begin()); }),
              HasSubstr("the manifest says 1"));
  EXPECT_THAT(message([](auto& weights) { weights[0].path = "weights/00000.bin"; }),
              HasSubstr("stands where"));
  EXPECT_THAT(message([](auto& weights) { weights[0].path = "program.bin"; }), HasSubstr("stands where"));
}

// Sparse files that together are larger than any address space.
TEST(Memory, WeightsThatCannotBeMappedAreRefused) {
  constexpr std::uint64_t kBytes = std::uint64_t{4} << 40;
  const testing_support::TempDirectory directory;
  std::filesystem::create_directory(directory / "weights");
  Manifest manifest;
  for (int i = 0; i < 80; ++i) {
    const std::string path = "weights/00" + std::to_string(i / 10) + std::to_string(i % 10) + ".bin";
    Digest digest = digestOf("");
    digest.size = kBytes;
    manifest.weights.push_back({path, kWeightsMediaType, digest});
    if (i > 0) {
      std::filesystem::create_hard_link(directory / "weights/0000.bin", directory / path);
      continue;
    }
    std::ofstream(directory / path) << "";
    std::error_code error;
    std::filesystem::resize_file(directory / path, kBytes, error);
    if (error) GTEST_SKIP() << "no sparse files of this size here";
  }
  const auto weights = Weights::map(directory.path(), manifest);
  ASSERT_FALSE(weights);
  EXPECT_EQ(weights.error().code, Code::kResourceExhausted);
  EXPECT_THAT(weights.error().message, HasSubstr("mapping " + directory.path() + "/weights/00"));
}

TEST(Memory, AnArtifactForAnotherProcessorIsNotLoaded) {
  TestArtifact other;
#if defined(__x86_64__)
  other.manifest.spec.target = "cpu:aarch64-neoverse-n1";
#else
  other.manifest.spec.target = "cpu:x86-64-v3";
#endif
  other.manifest.spec.features.clear();
  other.writeManifest();
  EXPECT_EQ(openFailure(other).errorClass, KILN_UNSUPPORTED_TARGET) << openFailure(other).message;
  TestArtifact unknown;
  unknown.manifest.spec.features = {"+avx99"};
  unknown.writeManifest();
  EXPECT_EQ(openFailure(unknown).errorClass, KILN_UNSUPPORTED_TARGET) << openFailure(unknown).message;
  EXPECT_THAT(openFailure(unknown).message, HasSubstr("avx99"));
}

TEST(Memory, ASessionIsNotReadyAfterAFailedWarmup) {
  TestArtifact files;
  files.writeFixtures();
  auto artifact = Artifact::open(files.path());
  ASSERT_TRUE(artifact) << artifact.error().message;
  auto session = Session::open(*artifact, {.threads = 2});
  ASSERT_TRUE(session) << session.error().message;
  const std::vector<NamedTensor> inputs = {{"x", floats({kRows, kColumns}, sampleInput())}};
  ASSERT_TRUE(session->warmup());
  ASSERT_TRUE(session->run(inputs));
  files.writeFixtures(1.0f);
  EXPECT_EQ(failureOf(session->warmup()).errorClass, KILN_NUMERICAL_CHECK_FAILED);
  EXPECT_FALSE(session->ready());
  EXPECT_EQ(failureOf(session->run(inputs)).errorClass, KILN_NOT_READY);
  std::filesystem::remove_all(files / "fixtures");
  EXPECT_FALSE(session->warmup());
  EXPECT_FALSE(session->ready());
  files.writeFixtures();
  ASSERT_TRUE(session->warmup());
  EXPECT_TRUE(session->run(inputs));
}

}  // namespace
}  // namespace kiln::runtime::test
