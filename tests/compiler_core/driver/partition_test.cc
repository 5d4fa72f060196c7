// A model over two targets: the same results as over one, in regions of the arena that are kept apart.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler_core/driver/compiler.h"
#include "compiler_core/driver/evaluate_reference.h"
#include "compiler_core/runtime/compare/compare.h"
#include "compiler_core/runtime/program/cpu_features.h"
#include "tests/compiler_core/host/program_host.h"
#include "tests/support/temp_directory.h"

namespace kiln::driver {
namespace {

namespace fs = std::filesystem;
using testing::Buffer;
using testing::ProgramHost;

constexpr char kCnn[] = KILN_MODELS "/digits_cnn.onnx", kMlp[] = KILN_MODELS "/digits_mlp.onnx";
constexpr char kV3[] = "cpu:x86-64-v3", kV4[] = "cpu:x86-64-v4", kBoth[] = "cpu:x86-64-v4,cpu:x86-64-v3";

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Partitioned : public ::testing::Test {
 protected:
  struct Built {
    CompileResult result;
    ProgramHost host;
    std::vector<Buffer> weights;
  };

  CompileRequest request(const std::string& model, const std::string& target, PartitionRules rules = {}) {
    CompileRequest request;
    request.model = model;
    request.target = *parseTarget(target);
    request.partition = std::move(rules);
    request.toolchainLib = KILN_TOOLCHAIN_LIB;
    request.out = directory_ / std::to_string(++count_);
    fs::create_directories(request.out);
    return request;
  }

  static bool runsHere(const std::string& target) {
    return runtime::checkHostFeatures(parseTarget(target)->features, target).has_value();
  }

  Result<Built> build(const CompileRequest& wanted) {
    KILN_ASSIGN(CompileResult result, compile(wanted));
    KILN_ASSIGN(ProgramHost host, ProgramHost::load(read(wanted.out + "/program.so")));
    std::vector<Buffer> weights;
    for (const auto& file : result.weights)
      weights.push_back(Buffer::of<char>(std::span<const char>(read(wanted.out + "/" + file.path))));
    return Built{std::move(result), std::move(host), std::move(weights)};
  }

  // The bytes of all outputs, the same with 1, 2 and 7 threads and close to the reference.
  Result<std::vector<std::string>> results(const Built& built, const std::string& model,
                                           const std::map<std::string, std::int64_t>& dims,
                                           const std::vector<std::int64_t>& symbols = {}) {
    KILN_ASSIGN(const ReferenceResult reference, evaluateReference(model, dims, {}, {}, 1));
    std::vector<Buffer> inputs;
    for (const auto& tensor : reference.inputValues)
      inputs.push_back(Buffer::of<std::uint8_t>(std::span<const std::uint8_t>(tensor.bytes)));
    std::vector<std::string> first;
    for (int threads : {1, 2, 7}) {
      std::vector<Buffer> outputs;
      for (const auto& tensor : reference.outputValues) outputs.emplace_back(tensor.bytes.size());
      KILN_ASSIGN(const auto ran, built.host.run(0, symbols, built.weights, inputs, outputs, threads));
      std::vector<std::int64_t> wanted;
      std::vector<std::string> now;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const auto& expected = reference.outputValues[i];
        wanted.insert(wanted.end(), expected.shape.begin(), expected.shape.end());
        const Bytes got = outputs[i].as<const std::uint8_t>();
        KILN_ASSIGN(const auto comparison, runtime::compare(expected.dtype, got, expected.bytes, {}));
        if (!comparison.passed()) return fail(Code::kDataLoss, comparison.text());
        now.emplace_back(reinterpret_cast<const char*>(got.data()), got.size());
      }
      if (ran != wanted) return fail(Code::kDataLoss, "other dimensions than the reference");
      if (threads == 1) first = now;
      if (now != first) return fail(Code::kDataLoss, "other bits with more threads");
    }
    return first;
  }

  testing_support::TempDirectory directory_;
  int count_ = 0;
};

const PartitionRules kPools = {.affinities = {{"op:MaxPool", kV3}, {"op:Gemm", kV3}, {"op:Conv", kV4}}};

TEST_F(Partitioned, EvidenceSaysWhatRunsWhereAndWhatGoesBetween) {
  auto wanted = request(kCnn, kBoth, kPools);
  wanted.out.clear();
  auto result = compile(wanted);
  ASSERT_TRUE(result) << result.error().message;
  const auto& evidence = result->partition;
  ASSERT_GE(evidence.partitions.size(), 3u);
  std::uint64_t transferred = 0;
  for (const auto& transfer : evidence.transfers) {
    EXPECT_NE(transfer.from, transfer.to);
    EXPECT_FALSE(transfer.node.empty());
    transferred += transfer.bytes;
  }
  EXPECT_GE(evidence.transfers.size(), 3u);
  EXPECT_EQ(evidence.transferBytes, transferred);
  ASSERT_EQ(result->plans.size(), 1u);
  const PlanEvidence& plan = result->plans[0];
  EXPECT_EQ(plan.transferBytes, transferred);
  ASSERT_EQ(plan.regions.size(), 2u) << "one arena per target";
  EXPECT_EQ(plan.regions[1].offset, plan.regions[0].bytes);
  EXPECT_EQ(plan.arenaBytes, plan.regions[0].bytes + plan.regions[1].bytes);
  EXPECT_GE(plan.arenaBytes, plan.lowerBoundBytes);
  for (const KernelEvidence& kernel : result->schedule.kernels)
    EXPECT_TRUE(kernel.target == kV3 || kernel.target == kV4) << kernel.target;
}

TEST_F(Partitioned, TheSameBytesEveryTime) {
  const auto first = request(kCnn, kBoth, kPools), second = request(kCnn, kBoth, kPools);
  ASSERT_TRUE(compile(first));
  ASSERT_TRUE(compile(second));
  EXPECT_EQ(read(first.out + "/program.so"), read(second.out + "/program.so"));
}

TEST_F(Partitioned, EachPartitionHasTheCodeOfItsTarget) {
  // Which processors functions are compiled for.
  const auto processors = [&](const PartitionRules& rules) {
    const CompileRequest wanted = request(kCnn, kBoth, rules);
    CompileObserver observer;
    observer.irDirectory = wanted.out;
    EXPECT_TRUE(compile(wanted, observer));
    std::string text;
    for (const auto& file : fs::directory_iterator(wanted.out))
      if (file.path().extension() == ".ll") text += read(file.path());
    return std::pair(text.find("\"target-cpu\"=\"x86-64-v4\"") != std::string::npos,
                     text.find("\"target-cpu\"=\"x86-64-v3\"") != std::string::npos);
  };
  EXPECT_EQ(processors(kPools), std::pair(true, true));
  EXPECT_EQ(processors({}), std::pair(true, false));
  EXPECT_EQ(processors({.affinities = {{"*", kV3}}}), std::pair(false, true)) << "nothing is cut";
}

TEST_F(Partitioned, ResultsAreThoseOfOneTarget) {
  if (!runsHere(kBoth)) GTEST_SKIP() << "this processor has no AVX-512";
  auto whole = build(request(kCnn, kV4));
  ASSERT_TRUE(whole) << whole.error().message;
  auto two = build(request(kCnn, kBoth, kPools));
  ASSERT_TRUE(two) << two.error().message;
  const auto expected = results(*whole, kCnn, {}), got = results(*two, kCnn, {});
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_TRUE(got) << got.error().message;
  // Two targets with the same registers have the same schedule, and so the same bits.
  const std::string wide = "cpu:x86-64-v4+avx512vnni+avx512bf16";
  if (!runsHere(wide)) return;
  auto same = build(request(kCnn, kV4 + ("," + wide),
                            {.affinities = {{"op:MaxPool", wide}, {"op:Gemm", wide}, {"op:Conv", kV4}}}));
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_GE(same->result.partition.partitions.size(), 3u);
  const auto bits = results(*same, kCnn, {});
  ASSERT_TRUE(bits) << bits.error().message;
  EXPECT_EQ(*bits, *expected);
}

TEST_F(Partitioned, SymbolicShapesGoAcross) {
  if (!runsHere(kBoth)) GTEST_SKIP() << "this processor has no AVX-512";
  auto wanted =
      request(kMlp, kBoth, {.affinities = {{"op:Div", kV3}, {"op:Softmax", kV3}, {"op:MatMul", kV4}}});
  wanted.profiles = {{"default", {{"N", 1, 4, 9}}}};
  auto built = build(wanted);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_GE(built->result.partition.partitions.size(), 2u);
  for (std::int64_t n : {1, 4, 9}) {
    const auto got = results(*built, kMlp, {{"N", n}}, {n});
    EXPECT_TRUE(got) << n << ": " << got.error().message;
  }
}

// Every parallel loop writes one region of the arena only, and so does what happens between loops.
struct Watch {
  std::span<unsigned char> arena;
  std::vector<unsigned char> before;
  std::vector<Buffer> scratch;
  const std::vector<RegionEvidence>* regions = nullptr;
  int crossed = 0, loops = 0;

  void check() {
    int touched = 0;
    for (const RegionEvidence& region : *regions)
      touched += std::memcmp(arena.data() + region.offset, before.data() + region.offset, region.bytes) != 0;
    crossed += touched > 1;
    before.assign(arena.begin(), arena.end());
  }
  static void parallelFor(void* user, kiln_kernel kernel, void* env, std::int64_t tasks) {
    auto& watch = *static_cast<Watch*>(user);
    watch.check();
    for (std::int64_t task = 0; task < tasks; ++task) kernel(env, task, watch.scratch[0].data());
    watch.check();
    ++watch.loops;
  }
};

TEST_F(Partitioned, EachTargetStaysInItsRegion) {
  if (!runsHere(kBoth)) GTEST_SKIP() << "this processor has no AVX-512";
  auto built = build(request(kCnn, kBoth, kPools));
  ASSERT_TRUE(built) << built.error().message;
  auto reference = evaluateReference(kCnn, {}, {}, {}, 1);
  ASSERT_TRUE(reference);
  const kiln_profile& profile = built->host.table().profiles[0];
  const Buffer arena(profile.arena_bytes);
  Watch watch{arena.as<unsigned char>().first(profile.arena_bytes), {}, {}, &built->result.plans[0].regions};
  std::memset(arena.data(), 0xa5, profile.arena_bytes);
  watch.before.assign(watch.arena.begin(), watch.arena.end());
  watch.scratch.emplace_back(profile.scratch_bytes);
  const kiln_callbacks callbacks = {&Watch::parallelFor, &watch};
  std::vector<const void*> weights, inputs;
  std::vector<void*> outputs;
  std::vector<Buffer> results;
  for (const Buffer& weight : built->weights) weights.push_back(weight.data());
  for (const auto& tensor : reference->inputValues)
    inputs.push_back(results.emplace_back(Buffer::of<std::uint8_t>(tensor.bytes)).data());
  for (const auto& tensor : reference->outputValues)
    outputs.push_back(results.emplace_back(tensor.bytes.size()).data());
  std::vector<std::int64_t> dims(built->host.table().output_dim_count);
  ASSERT_EQ(profile.run(&callbacks, arena.data(), weights.data(), inputs.data(), outputs.data(), nullptr,
                        dims.data()),
            KILN_RUN_OK);
  EXPECT_GT(watch.loops, 3);
  EXPECT_EQ(watch.crossed, 0);
}

TEST_F(Partitioned, FallbackIsNamedInTheEvidenceAndNeverSilent) {
  auto wanted = request(kCnn, kBoth, {.exclusions = {{"op:MaxPool", kV4}}});
  wanted.out.clear();
  const auto refused = compile(wanted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_NE(refused.error().details.find("excluded from target cpu:x86-64-v4"), std::string::npos)
      << refused.error().details;
  wanted.fallback = true;
  const auto allowed = compile(wanted);
  ASSERT_TRUE(allowed) << allowed.error().message;
  EXPECT_FALSE(allowed->partition.fallback.empty());
  EXPECT_GT(allowed->partition.fallbackPermille, 0);
  EXPECT_GT(allowed->partition.transferBytes, 0u);
}

TEST_F(Partitioned, ThePassCanBeLeftOut) {
  auto wanted = request(kCnn, kBoth, kPools);
  wanted.out.clear();
  wanted.disabledPasses = {"kiln-partition"};
  const auto result = compile(wanted);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->partition.partitions.size(), 1u);
  EXPECT_EQ(result->partition.partitions[0].target, kV4);
}

TEST_F(Partitioned, RulesForOtherTargetsAreRefused) {
  auto wanted = request(kCnn, kBoth, {.affinities = {{"*", "cpu:aarch64"}}});
  wanted.out.clear();
  const auto result = compile(wanted);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace kiln::driver
