// A model that a GPU serves in part, from ONNX to results: its kernels on the emulated device, the rest on
// the processor, and copies between as the partition map states them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler_core/codegen/cuda/codegen.h"
#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/evaluate_reference.h"
#include "compiler_core/runtime/compare/compare.h"
#include "compiler_core/runtime/runtime.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temp_directory.h"

namespace kiln::driver {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;

std::vector<float> numbers(std::size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / 16777216.0f - 0.5f;
  }
  return values;
}

// The largest eight of each row, which no GPU finds, between products.
OnnxBuilder sorted() {
  OnnxBuilder model(17);
  model.input("x", {12, 64}).output("y").output("places", kOnnxInt64);
  model.initializer(onnxTensor("w", {64, 64}, numbers(64 * 64, 1)));
  model.initializer(onnxTensor("v", {8, 16}, numbers(8 * 16, 2)));
  model.initializer(onnxTensor("k", {1}, std::vector<std::int64_t>{8}));
  model.node("MatMul", {"x", "w"}, {"p"}, {}, "first").node("Softmax", {"p"}, {"s"}, {}, "softmax");
  model.node("TopK", {"s", "k"}, {"best", "places"}, {}, "search");
  model.node("MatMul", {"best", "v"}, {"q"}, {}, "second").node("Tanh", {"q"}, {"y"}, {}, "tanh");
  return model;
}

TEST(FallbackRun, GoesToTheProcessorAndBack) {
  if (!fs::exists(codegen::ptxasOf(KILN_TOOLCHAIN_LIB))) GTEST_SKIP() << "the build tree has no ptxas";
  const TempDirectory directory;
  CompileRequest wanted;
  wanted.model = directory / "model.onnx";
  std::ofstream(wanted.model, std::ios::binary) << sorted().build();
  wanted.target = *parseTarget("cuda:sm_90a");
  wanted.toolchainLib = KILN_TOOLCHAIN_LIB;
  wanted.fallback = true;
  wanted.out = directory / "artifact";
  CompileObserver observer;
  observer.emulation = directory / "emulation";
  fs::create_directories(wanted.out);
  fs::create_directories(observer.emulation);
  const auto result = compile(wanted, observer);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->partition.fallback.size(), 1u);
  EXPECT_EQ(result->partition.fallback[0].node.node, "search");
  ASSERT_EQ(result->partition.partitions.size(), 3u) << "to the processor and back";
  CompileSpec spec;
  spec.files = {{"model.onnx", digestOf("model")}};
  spec.toolchainDigest = digestOf("toolchain");
  spec.target = wanted.target.name;
  spec.features = wanted.target.features;
  spec.fallback = "cpu";
  spec.profiles = {{"default", {}}};
  const Status written = writeDocuments(spec, *result, wanted.out);
  ASSERT_TRUE(written) << written.error().message;

  const auto expected = evaluateReference(wanted.model, {}, {}, {}, 1);
  ASSERT_TRUE(expected) << expected.error().message;
  const auto& x = expected->inputValues[0];
  const std::vector<runtime::NamedTensor> inputs = {{"x", {x.dtype, x.shape, x.bytes}}};
  const auto artifact = runtime::Artifact::open(wanted.out);
  ASSERT_TRUE(artifact) << artifact.error().message;
  ::setenv("KILN_EMULATED_KERNELS", observer.emulation.c_str(), 1);
  for (const char* order : {"ascending", "descending", "shuffled"}) {
    ::setenv("KILN_EMULATED_ORDER", order, 1);
    kiln_session_options options{.threads = 2, .run_before_ready = 1};
    options.device_driver = KILN_EMULATED_CUDA;
    auto session = runtime::Session::open(*artifact, options);
    ASSERT_TRUE(session) << session.error().message;
    constexpr std::uint64_t kRuns = 3;
    for (std::uint64_t run = 0; run < kRuns; ++run) {
      const auto outputs = session->run(inputs);
      ASSERT_TRUE(outputs) << outputs.error().message;
      ASSERT_EQ(outputs->size(), 2u);
      for (std::size_t i = 0; i < 2; ++i) {
        const auto& want = expected->outputValues[i];
        EXPECT_EQ((*outputs)[i].tensor.shape, want.shape);
        const auto compared = runtime::compare(want.dtype, (*outputs)[i].tensor.data, want.bytes, {});
        ASSERT_TRUE(compared) << compared.error().message;
        EXPECT_TRUE(compared->passed()) << order << ", output " << i << ": " << compared->text();
      }
    }
    const kiln_counters counters = session->counters();
    EXPECT_EQ(counters.device_transfer_bytes, kRuns * result->partition.transferBytes);
    EXPECT_EQ(counters.replayed_runs, 0u) << "the processor works in between";
    EXPECT_NE(counters.device_emulated, 0);
  }
}

}  // namespace
}  // namespace kiln::driver
