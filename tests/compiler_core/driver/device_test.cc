// Models compiled for a GPU: what the evidence states, what is refused or falls back, and what the program
// asks of the device. Where the build tree has no ptxas, what needs it is skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler_core/codegen/cuda/codegen.h"
#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/commands/evidence_json.h"
#include "manifest/artifact/manifest.h"
#include "tests/compiler_core/host/program_host.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temp_directory.h"

namespace kiln::driver {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;
using testing::Buffer;
using ::testing::HasSubstr;
using testing::ProgramHost;

constexpr char kGpu[] = "cuda:sm_90a", kBoth[] = "cuda:sm_90a,cpu:x86-64-v4";
constexpr char kCnn[] = KILN_MODELS "/digits_cnn.onnx", kMlp[] = KILN_MODELS "/digits_mlp.onnx";

bool hasAssembler() {
  return fs::exists(codegen::ptxasOf(KILN_TOOLCHAIN_LIB));
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Softmax, then the places of what is not 0, which no GPU finds, then a sum of all.
OnnxBuilder irregular() {
  OnnxBuilder model(17);
  model.input("x", {4, 64}).output("y").output("places", kOnnxInt64);
  model.initializer(onnxTensor("w", {64, 64}, std::vector<float>(64 * 64, 0.5f)));
  model.node("MatMul", {"x", "w"}, {"p"}, {}, "product").node("Softmax", {"p"}, {"y"}, {}, "softmax");
  model.node("NonZero", {"y"}, {"places"}, {}, "search");
  return model;
}

class Device : public ::testing::Test {
 protected:
  CompileRequest request(const std::string& model, const std::string& target, bool dry = false) {
    CompileRequest request;
    request.model = model;
    request.target = *parseTarget(target);
    request.toolchainLib = KILN_TOOLCHAIN_LIB;
    if (dry) return request;
    request.out = folder();
    return request;
  }
  std::string folder() {
    const std::string path = directory_ / std::to_string(++count_);
    fs::create_directories(path);
    return path;
  }
  std::string save(const OnnxBuilder& model) {
    const std::string path = directory_ / "model.onnx";
    std::ofstream(path, std::ios::binary) << model.build();
    return path;
  }

  TempDirectory directory_;
  int count_ = 0;
};

TEST(Served, Tf32IsForDevicesAndInt8ForProcessors) {
  CompileSpec spec;
  spec.numerics.precision = "tf32";
  for (const char* target : {kGpu, kBoth}) {
    spec.target = target;
    EXPECT_TRUE(checkServed(spec)) << target;
  }
  spec.target = "cpu:x86-64-v4";
  const auto refused = checkServed(spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().message, HasSubstr("tf32"));
  spec.numerics.precision = "int8";
  EXPECT_TRUE(checkServed(spec));
  spec.target = kGpu;
  EXPECT_FALSE(checkServed(spec));
  spec.numerics.precision = "bf16";
  EXPECT_FALSE(checkServed(spec));
}

TEST(Served, OrdersThatTuningNamesAreForProcessors) {
  CompileSpec spec;
  for (const char* target : {kGpu, kBoth, "cpu:x86-64-v4"}) {
    spec.target = target;
    EXPECT_TRUE(checkServed(spec)) << "the default, for " << target;
  }
  spec.numerics.reassociation = "on";
  spec.target = "cpu:x86-64-v4,cpu:x86-64-v3";
  EXPECT_TRUE(checkServed(spec));
  for (const char* target : {kGpu, kBoth}) {
    spec.target = target;
    const auto refused = checkServed(spec);
    ASSERT_FALSE(refused) << target;
    EXPECT_EQ(refused.error().code, Code::kUnimplemented);
    EXPECT_THAT(refused.error().message, HasSubstr("numerics.reassociation \"on\" is not served for "));
    EXPECT_THAT(refused.error().message, HasSubstr(target));
  }
}

TEST_F(Device, ADryRunSaysWhatGoesWhereAndHowItIsCut) {
  for (const char* target : {"cuda:sm_80", kGpu, "cuda:sm_100a"}) {
    const auto result = compile(request(kCnn, target, /*dry=*/true));
    ASSERT_TRUE(result) << target << ": " << result.error().message;
    const auto& evidence = result->partition;
    ASSERT_EQ(evidence.partitions.size(), 1u);
    EXPECT_EQ(evidence.partitions[0].target, target);
    ASSERT_EQ(evidence.transfers.size(), 2u) << "the input and the output";
    EXPECT_EQ(evidence.transfers[0].from + " " + evidence.transfers[0].to, std::string("host ") + target);
    EXPECT_EQ(evidence.transfers[1].from + " " + evidence.transfers[1].to, target + std::string(" host"));
    const PlanEvidence& plan = result->plans[0];
    EXPECT_EQ(plan.transferBytes, plan.inputBytes + plan.outputBytes);
    EXPECT_EQ(plan.arenaBytes, 0u);
    EXPECT_EQ(plan.scratchBytes, 0u);
    ASSERT_EQ(plan.deviceArenaBytes.size(), 1u);
    EXPECT_GE(plan.deviceArenaBytes[0], plan.inputBytes + plan.outputBytes);
    ASSERT_EQ(plan.regions.size(), 1u);
    EXPECT_EQ(plan.regions[0].space, 1u);
    ASSERT_GE(result->schedule.kernels.size(), 3u);
    for (const KernelEvidence& kernel : result->schedule.kernels) {
      EXPECT_EQ(kernel.target, target);
      ASSERT_TRUE(kernel.device) << kernel.symbol;
      EXPECT_EQ(kernel.device->threads % 32, 0);
      EXPECT_GT(kernel.device->threads, 0);
      EXPECT_GT(kernel.movedBytes, 0u) << kernel.symbol;
    }
  }
}

TEST_F(Device, WhatItCannotServeIsRefusedByName) {
  const auto refused = compile(request(save(irregular()), kGpu, true));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().details, HasSubstr("search"));
  EXPECT_THAT(refused.error().details, HasSubstr("target cuda:sm_90a has no kiln.compress"));
  auto uncut = request(kCnn, kGpu, true);
  uncut.disabledPasses = {"kiln-partition"};
  const auto whole = compile(uncut);
  ASSERT_FALSE(whole);
  EXPECT_THAT(whole.error().message, HasSubstr("kiln-partition cannot be left out for cuda:sm_90a"));
}

TEST_F(Device, FallbackGoesToTheProcessorThatIsThereAnyway) {
  auto wanted = request(save(irregular()), kGpu, true);
  wanted.fallback = true;
  const auto result = compile(wanted);
  ASSERT_TRUE(result) << result.error().message;
  const auto& evidence = result->partition;
  EXPECT_EQ(evidence.targets, (std::vector<std::string>{kGpu, kHostTarget}));
  ASSERT_EQ(evidence.fallback.size(), 1u);
  EXPECT_EQ(evidence.fallback[0].node.node, "search");
  EXPECT_EQ(evidence.fallback[0].to, kHostTarget);
  EXPECT_EQ(evidence.fallbackPermille, 334);
  ASSERT_EQ(evidence.partitions.size(), 2u) << "nothing else leaves the GPU";
  EXPECT_EQ(evidence.partitions[0].target, kGpu);
  EXPECT_EQ(evidence.partitions[1].target, kHostTarget);
  EXPECT_GT(result->plans[0].arenaBytes, 0u) << "what the processor reads was copied to its arena";
  wanted.partition.fallbackPermille = 100;
  const auto limited = compile(wanted);
  ASSERT_FALSE(limited);
  EXPECT_THAT(limited.error().message, HasSubstr("1 of 3 nodes would fall back"));
  wanted.partition = {.fallbackOperators = {"MatMul"}};
  EXPECT_FALSE(compile(wanted));
}

TEST_F(Device, EqualLayersAreOneKernel) {
  OnnxBuilder model(17);
  model.input("x", {64, 64}).output("y");
  for (const char* name : {"w1", "w2"}) {
    std::vector<float> values(64 * 64);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = 0.01f * static_cast<float>(i * static_cast<unsigned char>(name[1]) % 37) - 0.15f;
    model.initializer(onnxTensor(name, {64, 64}, values));
  }
  model.node("MatMul", {"x", "w1"}, {"a"}, {}, "first").node("Relu", {"a"}, {"b"}, {}, "relu");
  model.node("MatMul", {"b", "w2"}, {"c"}, {}, "second").node("Relu", {"c"}, {"y"}, {}, "last");
  auto wanted = request(save(model), kGpu, true);
  const auto shared = compile(wanted);
  ASSERT_TRUE(shared) << shared.error().message;
  const auto& kernels = shared->schedule.kernels;
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].codeOf, "");
  EXPECT_EQ(kernels[1].codeOf, kernels[0].symbol);
  wanted.disabledPasses = {"kiln-share-kernels"};
  const auto apart = compile(wanted);
  ASSERT_TRUE(apart) << apart.error().message;
  EXPECT_EQ(apart->schedule.kernels[1].codeOf, "");
}

TEST_F(Device, AModelWithNothingToDoIsAProgramOfTheProcessor) {
  OnnxBuilder model(17);
  model.input("x", {4}).output("y").node("Identity", {"x"}, {"y"});
  const auto result = compile(request(save(model), kGpu));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->devices.empty());
  EXPECT_EQ(evidenceJson(*result)["program"]["abi"], KILN_PROGRAM_ABI);
}

TEST_F(Device, TheArtifactIsTheSameEveryTimeAndItsManifestStatesTheImage) {
  if (!hasAssembler()) GTEST_SKIP() << "the build tree has no ptxas";
  auto wanted = request(kCnn, kGpu);
  auto again = request(kCnn, kGpu);
  CompileObserver observer;
  observer.emulation = folder();
  const auto result = compile(wanted, observer);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(compile(again));
  const std::string image = read(wanted.out + "/kernels/sm_90a.cubin");
  EXPECT_EQ(image.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_EQ(image, read(again.out + "/kernels/sm_90a.cubin")) << "with and without an emulation";
  EXPECT_EQ(read(wanted.out + "/program.so"), read(again.out + "/program.so"));
  EXPECT_EQ(read(observer.emulation + "/" + digestOf(image).hex() + ".so").substr(0, 4),
            "\x7f"
            "ELF");

  CompileSpec spec;
  spec.files = {{"model.onnx", digestOf(read(kCnn))}};
  spec.toolchainDigest = digestOf("toolchain");
  spec.target = kGpu;
  spec.features = wanted.target.features;
  spec.profiles = {{"default", {}}};
  const auto manifest = makeManifest(spec, evidenceJson(*result));
  ASSERT_TRUE(manifest) << manifest.error().message;
  ASSERT_EQ(manifest->devices.size(), 1u);
  const DeviceImageInfo& device = manifest->devices[0];
  EXPECT_EQ(device.image.digest, digestOf(image));
  EXPECT_EQ(device.computeCapability, "9.0");
  EXPECT_TRUE(device.exact);
  EXPECT_FALSE(device.kernels.empty());
  for (const std::uint32_t space : manifest->weightSpaces) EXPECT_EQ(space, 1u);
  for (const Json& kernel : manifest->stages["schedule"]["kernels"]) {
    const Json& own = kernel["device"];
    EXPECT_GT(own["registers"], 0) << kernel.dump();
    EXPECT_GT(own["occupancyPermille"], 0);
    EXPECT_TRUE(own.contains("spillBytes") && own.contains("sharedBytes") && own.contains("movedBytes"));
  }
}

TEST_F(Device, AToolchainWithoutAnAssemblerSaysSo) {
  auto wanted = request(kCnn, kGpu);
  wanted.toolchainLib = directory_ / "toolchain/lib";
  fs::create_directories(wanted.toolchainLib);
  for (const char* file : {"kmath.bc", "kkernels.bc", "libkiln_builtins-x86_64.a"})
    fs::create_symlink(fs::path(KILN_TOOLCHAIN_LIB) / file, fs::path(wanted.toolchainLib) / file);
  const auto result = compile(wanted);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnimplemented);
  EXPECT_THAT(result.error().message, HasSubstr("ptxas"));
}

// A device that does nothing but note what it is asked for.
struct Recorder {
  struct Launch {
    std::uint32_t kernel, block;
    std::vector<std::uint64_t> arguments;
  };
  std::vector<Launch> launches;
  std::vector<std::string> steps;
  std::size_t failAt = ~std::size_t{0};

  std::int32_t step(std::string what) {
    steps.push_back(std::move(what));
    return steps.size() > failAt ? KILN_RUN_DEVICE_FAILED : KILN_RUN_OK;
  }
  static std::int32_t launch(void* user, const kiln_launch* launch) {
    auto& self = *static_cast<Recorder*>(user);
    EXPECT_EQ(launch->space, 1u);
    EXPECT_GT(launch->grid[0], 0u);
    EXPECT_EQ(launch->grid[1] * launch->grid[2], 1u);
    EXPECT_EQ(launch->reserved, 0u);
    self.launches.push_back(
        {launch->kernel, launch->block, {launch->arguments, launch->arguments + launch->argument_count}});
    return self.step("launch");
  }
  static std::int32_t copy(void* user, std::uint32_t to, void*, std::uint32_t from, const void*,
                           std::uint64_t bytes) {
    return static_cast<Recorder*>(user)->step("copy " + std::to_string(bytes) + " from " +
                                              std::to_string(from) + " to " + std::to_string(to));
  }
  static std::int32_t wait(void* user, std::uint32_t space) {
    return static_cast<Recorder*>(user)->step("wait " + std::to_string(space));
  }
  static void parallelFor(void* user, kiln_kernel, void*, std::int64_t) {
    static_cast<Recorder*>(user)->step("loop");
  }
};

class Asked : public Device {
 protected:
  // Runs the first profile of a program with pointers that stand for a device's memory.
  std::int32_t run(const CompileRequest& wanted, const CompileResult& result, Recorder& recorder,
                   const std::vector<std::int64_t>& symbols = {}) {
    auto host = ProgramHost::load(read(wanted.out + "/program.so"));
    if (!host) {
      ADD_FAILURE() << host.error().message;
      return -1;
    }
    const kiln_program& table = host->table();
    EXPECT_EQ(table.abi, KILN_PROGRAM_ABI_DEVICES);
    const auto& whole = reinterpret_cast<const kiln_device_program&>(table);
    EXPECT_EQ(whole.space_count, 2u);
    for (std::size_t i = 0; i < result.plans.size(); ++i) {
      EXPECT_EQ(whole.arena_bytes[2 * i], result.plans[i].arenaBytes);
      EXPECT_EQ(whole.arena_bytes[2 * i + 1], result.plans[i].deviceArenaBytes[0]);
    }
    const Buffer arena(result.plans[0].arenaBytes + 64);
    void* const arenas[] = {arena.data(), reinterpret_cast<void*>(kArena)};
    const kiln_callbacks callbacks = {&Recorder::parallelFor, &recorder,       &Recorder::launch,
                                      &Recorder::copy,        &Recorder::wait, arenas};
    const Buffer memory(1 << 20);  // more than any tensor here takes
    const std::vector<const void*> weights(table.weight_count, reinterpret_cast<const void*>(kWeights));
    const std::vector<const void*> inputs(table.input_count, memory.data());
    const std::vector<void*> outputs(table.output_count, memory.data());
    std::vector<std::int64_t> dims(table.output_dim_count + 1);
    return table.profiles[0].run(&callbacks, arena.data(), weights.data(), inputs.data(), outputs.data(),
                                 symbols.data(), dims.data());
  }

  static constexpr std::uint64_t kArena = 0x7000'0000'0000, kWeights = 0x7100'0000'0000;
};

TEST_F(Asked, TheProgramCopiesLaunchesInOrderAndStopsAtTheFirstFailure) {
  if (!hasAssembler()) GTEST_SKIP() << "the build tree has no ptxas";
  const auto wanted = request(kCnn, kGpu);
  const auto result = compile(wanted);
  ASSERT_TRUE(result) << result.error().message;
  Recorder recorder;
  ASSERT_EQ(run(wanted, *result, recorder), KILN_RUN_OK);
  const auto& kernels = result->schedule.kernels;
  ASSERT_EQ(recorder.launches.size(), kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::string& code = kernels[i].codeOf.empty() ? kernels[i].symbol : kernels[i].codeOf;
    EXPECT_EQ(result->devices[0].kernels.at(recorder.launches[i].kernel), code);
    EXPECT_EQ(recorder.launches[i].block, kernels[i].device->threads);
    for (const std::uint64_t word : recorder.launches[i].arguments) {
      const std::uint64_t place = word & ~std::uint64_t{0xffffffff};
      EXPECT_TRUE(place == kArena || place == kWeights) << "argument " << word << " of " << code;
    }
  }
  EXPECT_THAT(recorder.steps.front(), HasSubstr("from 0 to 1"));
  EXPECT_THAT(recorder.steps.back(), HasSubstr("from 1 to 0"));
  EXPECT_THAT(recorder.steps, ::testing::Not(::testing::Contains("loop")));
  EXPECT_THAT(recorder.steps, ::testing::Not(::testing::Contains("wait 1")))
      << "the runtime waits at the end";
  const std::size_t steps = recorder.steps.size();
  for (std::size_t at = 0; at < steps; ++at) {
    Recorder failing;
    failing.failAt = at;
    EXPECT_EQ(run(wanted, *result, failing), KILN_RUN_DEVICE_FAILED);
    EXPECT_EQ(failing.steps.size(), at + 1) << "nothing is asked for behind a failure";
  }
}

TEST_F(Asked, TheProcessorWaitsForWhatItReads) {
  if (!hasAssembler()) GTEST_SKIP() << "the build tree has no ptxas";
  auto wanted = request(save(irregular()), kGpu);
  wanted.fallback = true;
  const auto result = compile(wanted);
  ASSERT_TRUE(result) << result.error().message;
  Recorder recorder;
  ASSERT_EQ(run(wanted, *result, recorder), KILN_RUN_OK);
  const auto wait = std::ranges::find(recorder.steps, "wait 1");
  ASSERT_NE(wait, recorder.steps.end());
  EXPECT_EQ(std::ranges::count_if(recorder.steps.begin(), wait, [](const auto& s) { return s == "loop"; }),
            0);
}

TEST_F(Asked, SymbolicShapesBecomeGridsAndExtents) {
  if (!hasAssembler()) GTEST_SKIP() << "the build tree has no ptxas";
  auto wanted = request(kMlp, kGpu);
  wanted.profiles = {{"default", {{"N", 1, 4, 300}}}};
  const auto result = compile(wanted);
  ASSERT_TRUE(result) << result.error().message;
  Recorder one, many;
  ASSERT_EQ(run(wanted, *result, one, {1}), KILN_RUN_OK);
  ASSERT_EQ(run(wanted, *result, many, {300}), KILN_RUN_OK);
  ASSERT_EQ(one.launches.size(), many.launches.size());
  EXPECT_NE(one.steps.front(), many.steps.front()) << "the input is copied in its own size";
  bool differ = false;
  for (std::size_t i = 0; i < one.launches.size(); ++i)
    differ |= one.launches[i].arguments != many.launches[i].arguments;
  EXPECT_TRUE(differ);
}

TEST_F(Device, BothTargetsShareTheWorkByRule) {
  auto wanted = request(kCnn, kBoth, true);
  wanted.partition.affinities = {{"op:Gemm", "cpu:x86-64-v4"}, {"*", kGpu}};
  const auto result = compile(wanted);
  ASSERT_TRUE(result) << result.error().message;
  std::set<std::string> targets;
  for (const auto& part : result->partition.partitions) targets.insert(part.target);
  EXPECT_EQ(targets.size(), 2u);
  EXPECT_EQ(result->plans[0].deviceArenaBytes.size(), 1u);
  EXPECT_GT(result->plans[0].arenaBytes, 0u);
}

}  // namespace
}  // namespace kiln::driver
