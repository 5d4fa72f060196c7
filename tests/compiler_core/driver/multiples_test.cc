// Sizes that are multiples of a number, from the words of a command to a session: what divides them is exact,
// and what is no multiple is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "compiler_core/codegen/cuda/codegen.h"
#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/evaluate_reference.h"
#include "compiler_core/runtime/runtime.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temp_directory.h"

namespace kiln::driver {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;
using runtime::NamedTensor;

// Down by two layers of stride 2, up again, and joined with what was there before.
OnnxBuilder pyramid() {
  OnnxBuilder model;
  const std::vector<float> filter = {0.5f, -1, 0.25f, 1, 2, -0.5f, 0.125f, 1, -0.25f};
  const auto halve = [&](const char* from, const char* to) {
    model.node("Conv", {from, "w"}, {to}, {onnxInts("pads", {1, 1, 1, 1}), onnxInts("strides", {2, 2})});
  };
  model.input("image", {1, 1, "height", "width"})
      .output("joined")
      .initializer(onnxTensor("w", {1, 1, 3, 3}, filter))
      .initializer(onnxTensor("twice", {4}, std::vector<float>{1, 1, 2, 2}));
  halve("image", "half");
  halve("half", "quarter");
  model.node("Resize", {"quarter", "", "twice"}, {"up"}, {onnxText("mode", "nearest")})
      .node("Concat", {"up", "half"}, {"joined"}, {onnxInt("axis", 1)}, "join");
  return model;
}

class MultiplesOfSizes : public ::testing::Test {
 protected:
  Status build(const std::vector<std::string>& profiles, const std::string& target = "cpu:x86-64-v3") {
    model_ = directory_ / "model.onnx";
    std::ofstream(model_, std::ios::binary) << pyramid().build();
    ModelArguments arguments;
    arguments.model = model_;
    arguments.profile = profiles;
    arguments.target = target;
    auto spec = makeSpec(arguments);
    if (!spec) return fail(spec.error().error);
    auto request = requestFor(model_, *spec, fs::path(KILN_TOOLCHAIN_LIB).parent_path());
    if (!request) return fail(request.error().error);
    request->out = directory_ / "artifact";
    CompileObserver observer;
    observer.emulation = directory_ / "emulation";
    fs::create_directories(request->out);
    fs::create_directories(observer.emulation);
    KILN_ASSIGN(const CompileResult result, compile(*request, observer));
    KILN_TRY(writeDocuments(*spec, result, request->out));
    KILN_ASSIGN(artifact_, runtime::Artifact::open(request->out));
    return {};
  }

  static NamedTensor image(std::int64_t height, std::int64_t width) {
    std::vector<float> values(static_cast<std::size_t>(height * width));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) - 8;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
    return {"image", {DType::kF32, {1, 1, height, width}, {bytes, bytes + 4 * values.size()}}};
  }

  // Runs and compares with the reference evaluator.
  void expectRun(runtime::Session& session, std::int64_t height, std::int64_t width) {
    const NamedTensor input = image(height, width);
    const auto outputs = session.run({input});
    ASSERT_TRUE(outputs) << outputs.error().message;
    const npy::Tensor& got = (*outputs)[0].tensor;
    EXPECT_THAT(got.shape, ElementsAre(1, 2, height / 2, width / 2));
    const auto expected =
        evaluateReference(model_, {{"height", height}, {"width", width}}, {}, {}, 1,
                          {{"image", {DType::kF32, {1, 1, height, width}, input.tensor.data}}});
    ASSERT_TRUE(expected) << expected.error().message;
    ASSERT_EQ(got.data.size(), expected->outputValues[0].bytes.size());
    for (std::size_t i = 0; i < got.data.size() / 4; ++i) {
      float one = 0, other = 0;
      std::memcpy(&one, got.data.data() + 4 * i, 4);
      std::memcpy(&other, expected->outputValues[0].bytes.data() + 4 * i, 4);
      ASSERT_NEAR(one, other, 1e-4) << i;
    }
  }

  TempDirectory directory_;
  std::string model_;
  Result<runtime::Artifact> artifact_ = fail(Code::kUnknown, "none");
};

TEST_F(MultiplesOfSizes, AreWhatAPyramidWants) {
  const Status without = build({"height=4:8:64,width=4:8:64"});
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, Code::kUnimplemented);
  EXPECT_THAT(without.error().message, HasSubstr("join"));
}

TEST_F(MultiplesOfSizes, RunAtEachAndAreRefusedBetween) {
  const Status built = build({"height=4:8:64:4,width=4:8:64:4"});
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(artifact_->outputs()[0].dims[2], "height floordiv 2");
  auto session = runtime::Session::open(*artifact_, {.threads = 2, .run_before_ready = 1});
  ASSERT_TRUE(session) << session.error().message;
  for (const auto& [height, width] : {std::pair{4, 4}, {8, 64}, {64, 12}, {20, 36}})
    expectRun(*session, height, width);
  for (const auto& [height, width] : {std::pair{6, 8}, {8, 63}, {2, 8}, {68, 8}})
    EXPECT_FALSE(session->run({image(height, width)})) << height << ' ' << width;
  EXPECT_THAT(session->run({image(10, 8)}).error().message,
              HasSubstr("height is 10; profile default takes height from 4 to 64 in multiples of 4"));
}

TEST_F(MultiplesOfSizes, OfTwoProfilesOfOneProgram) {
  const Status built = build({"height=4:8:16:4,width=8", "large:height=24:48:72:24,width=12"});
  ASSERT_TRUE(built) << built.error().message;
  auto session = runtime::Session::open(*artifact_, {.threads = 2, .run_before_ready = 1});
  ASSERT_TRUE(session) << session.error().message;
  for (const auto& [height, width] : {std::pair{4, 8}, {12, 8}, {24, 12}, {72, 12}})
    expectRun(*session, height, width);
  for (const auto& [height, width] : {std::pair{28, 12}, {6, 8}, {24, 8}})
    EXPECT_FALSE(session->run({image(height, width)})) << height << ' ' << width;
}

TEST_F(MultiplesOfSizes, OnADevice) {
  if (!fs::exists(codegen::ptxasOf(KILN_TOOLCHAIN_LIB))) GTEST_SKIP() << "the build tree has no ptxas";
  const Status built = build({"height=4:8:32:4,width=8"}, "cuda:sm_90a");
  ASSERT_TRUE(built) << built.error().message;
  ::setenv("KILN_EMULATED_KERNELS", (directory_ / "emulation").c_str(), 1);
  kiln_session_options options{.threads = 2, .run_before_ready = 1};
  options.device_driver = KILN_EMULATED_CUDA;
  auto session = runtime::Session::open(*artifact_, options);
  ASSERT_TRUE(session) << session.error().message;
  for (const std::int64_t height : {4, 12, 32}) expectRun(*session, height, 8);
  EXPECT_FALSE(session->run({image(10, 8)}));
}

}  // namespace
}  // namespace kiln::driver
