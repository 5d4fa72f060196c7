// Whole models: compiled, run with 1, 2 and 7 threads, compared with the reference evaluator.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler_core/driver/commands/evidence_json.h"
#include "compiler_core/driver/compiler.h"
#include "compiler_core/driver/evaluate_reference.h"
#include "compiler_core/runtime/compare/compare.h"
#include "manifest/artifact/manifest.h"
#include "tests/compiler_core/host/program_host.h"
#include "tests/support/temp_directory.h"

namespace kiln::driver {
namespace {

namespace fs = std::filesystem;
using testing::Buffer;
using testing::ProgramHost;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class CompileModel : public ::testing::Test {
 protected:
  CompileRequest request(const std::string& model, std::map<std::string, std::int64_t> dims = {}) {
    CompileRequest request;
    request.model = model;
    request.target = *parseTarget("cpu:x86-64-v3");
    for (const auto& [name, value] : dims) request.profiles[0].dims.push_back({name, value, value, value});
    request.toolchainLib = KILN_TOOLCHAIN_LIB;
    request.out = directory_ / "out";
    fs::create_directories(request.out);
    return request;
  }

  void expectReference(const std::string& model, std::map<std::string, std::int64_t> dims = {}) {
    const CompileRequest wanted = request(model, dims);
    auto result = compile(wanted);
    ASSERT_TRUE(result) << result.error().message;
    auto host = ProgramHost::load(read(wanted.out + "/program.so"));
    ASSERT_TRUE(host) << host.error().message;
    std::vector<Buffer> weights;
    for (const auto& file : result->weights)
      weights.push_back(Buffer::of<char>(std::span<const char>(read(wanted.out + "/" + file.path))));
    for (std::uint64_t seed : {1, 2, 3}) {
      auto reference = evaluateReference(model, dims, {}, {}, seed);
      ASSERT_TRUE(reference) << reference.error().message;
      std::vector<Buffer> inputs;
      for (const auto& tensor : reference->inputValues)
        inputs.push_back(Buffer::of<std::uint8_t>(std::span<const std::uint8_t>(tensor.bytes)));
      std::vector<std::string> first;
      for (int threads : {1, 2, 7}) {
        std::vector<Buffer> outputs;
        for (const auto& tensor : reference->outputValues) outputs.emplace_back(tensor.bytes.size());
        auto ran = host->run(weights, inputs, outputs, threads);
        ASSERT_TRUE(ran) << ran.error().message;
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          const auto& expected = reference->outputValues[i];
          const Bytes got = outputs[i].as<const std::uint8_t>();
          auto comparison = runtime::compare(expected.dtype, got, expected.bytes, {});
          ASSERT_TRUE(comparison) << comparison.error().message;
          EXPECT_TRUE(comparison->passed()) << comparison->text();
          const std::string bits(reinterpret_cast<const char*>(got.data()), got.size());
          if (threads == 1) first.push_back(bits);
          EXPECT_EQ(bits, first[i]) << "other bits with " << threads << " threads";
        }
      }
    }
  }

  testing_support::TempDirectory directory_;
};

TEST_F(CompileModel, DigitsMlpMatchesTheReference) {
  expectReference(KILN_MODELS "/digits_mlp.onnx", {{"N", 8}});
}
TEST_F(CompileModel, DigitsCnnMatchesTheReference) {
  expectReference(KILN_MODELS "/digits_cnn.onnx");
}
TEST_F(CompileModel, MnistMatchesTheReference) {
  const std::string model = KILN_SHARED_MODELS "/mnist.onnx";
  if (!fs::exists(model)) GTEST_SKIP() << "no shared/data/models/mnist.onnx beside the checkout";
  expectReference(model);
}

}  // namespace
}  // namespace kiln::driver
