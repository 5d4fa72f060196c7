// Indices outside their dimension, from ONNX to a session's counters: programs of one and several profiles,
// of loops and branches, and on the emulated device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
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
using Longs = std::vector<std::int64_t>;
using runtime::NamedTensor;

template <class T>
NamedTensor tensor(const char* name, DType dtype, std::vector<std::int64_t> shape,
                   const std::vector<T>& values) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
  return {name, {dtype, std::move(shape), {bytes, bytes + values.size() * sizeof(T)}}};
}
NamedTensor longs(const char* name, std::vector<std::int64_t> shape, const Longs& values) {
  return tensor(name, DType::kI64, std::move(shape), values);
}
NamedTensor floats(const char* name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
  return tensor(name, DType::kF32, std::move(shape), values);
}

class CountedIndices : public ::testing::Test {
 protected:
  Status build(const OnnxBuilder& model, const std::vector<std::string>& profiles = {},
               const std::string& target = "cpu:x86-64-v3") {
    const std::string path = directory_ / "model.onnx";
    std::ofstream(path, std::ios::binary) << model.build();
    ModelArguments arguments;
    arguments.model = path;
    arguments.profile = profiles;
    arguments.target = target;
    auto spec = makeSpec(arguments);
    if (!spec) return fail(spec.error().error);
    auto request = requestFor(path, *spec, fs::path(KILN_TOOLCHAIN_LIB).parent_path());
    if (!request) return fail(request.error().error);
    request->out = directory_ / "artifact";
    CompileObserver observer;
    observer.emulation = directory_ / "emulation";
    fs::remove_all(request->out);
    fs::create_directories(request->out);
    fs::create_directories(observer.emulation);
    KILN_ASSIGN(result_, compile(*request, observer));
    KILN_TRY(writeDocuments(*spec, result_, request->out));
    KILN_ASSIGN(artifact_, runtime::Artifact::open(request->out));
    return {};
  }

  // What a session of its own counts in one run, by node.
  Longs counted(const std::vector<NamedTensor>& inputs, const char* driver = nullptr, bool checked = false) {
    kiln_session_options options{.threads = 2, .run_before_ready = 1, .check_indices = checked ? 1 : 0};
    options.device_driver = driver;
    auto session = runtime::Session::open(*artifact_, options);
    EXPECT_TRUE(session) << (session ? "" : session.error().message);
    if (!session) return {};
    const auto outputs = session->run(inputs);
    EXPECT_EQ(outputs.has_value(), !checked) << (outputs ? "" : outputs.error().message);
    if (!outputs) message_ = outputs.error().message;
    Longs counts;
    std::uint64_t total = 0;
    for (const auto& check : session->indexChecks()) {
      counts.push_back(static_cast<std::int64_t>(check.out_of_range));
      total += check.out_of_range;
    }
    EXPECT_EQ(session->counters().out_of_range_indices, total);
    return counts;
  }

  TempDirectory directory_;
  CompileResult result_;
  Result<runtime::Artifact> artifact_ = fail(Code::kUnknown, "none");
  std::string message_;
};

OnnxBuilder lookup(const OnnxDim& count) {
  OnnxBuilder model;
  model.input("table", {8, 16}).input("ids", {count}, kOnnxInt64).output("y");
  return model.node("Gather", {"table", "ids"}, {"y"}, {}, "embed");
}

TEST_F(CountedIndices, OfAGatherAreTheRuns) {
  const Status built = build(lookup(5));
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_THAT(result_.indexChecks, ElementsAre("embed"));
  const NamedTensor table = floats("table", {8, 16}, std::vector<float>(128, 1));
  EXPECT_THAT(counted({table, longs("ids", {5}, {0, 7, -8, 3, 1})}), ElementsAre(0));
  EXPECT_THAT(counted({table, longs("ids", {5}, {8, -9, 0, 1000, 1})}), ElementsAre(3));
  EXPECT_THAT(counted({table, longs("ids", {5}, {8, -9, 0, 0, 1})}, nullptr, true), ElementsAre(2));
  EXPECT_THAT(message_, HasSubstr("2 at node \"embed\""));
}

TEST_F(CountedIndices, AProgramThatNeedsNoneHasNone) {
  OnnxBuilder model;
  model.input("table", {8, 16}).output("y").initializer(onnxTensor("ids", {2}, Longs{7, -8}));
  model.node("Gather", {"table", "ids"}, {"y"}, {}, "embed");
  const Status built = build(model);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_TRUE(result_.indexChecks.empty());
  std::ifstream file(directory_ / "artifact/manifest.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}).find("indexChecks"), std::string::npos);
}

TEST_F(CountedIndices, EveryProfileCounts) {
  const Status built = build(lookup("N"), {"small:N=1:2:4", "large:N=1:16:100"});
  ASSERT_TRUE(built) << built.error().message;
  const NamedTensor table = floats("table", {8, 16}, std::vector<float>(128, 1));
  EXPECT_THAT(counted({table, longs("ids", {3}, {8, 0, 9})}), ElementsAre(2));
  EXPECT_THAT(counted({table, longs("ids", {50}, Longs(50, -9))}), ElementsAre(50));
}

// Writes at run-time places, in a branch or in iterations that a run decides.
TEST_F(CountedIndices, BodiesCount) {
  OnnxBuilder onTrue(16), onFalse(16), model(16);
  onTrue.output("a").node("ScatterND", {"x", "at", "new"}, {"a"}, {}, "inner");
  onFalse.output("b").node("Neg", {"x"}, {"b"});
  model.input("x", {4}).input("at", {2, 1}, kOnnxInt64).input("new", {2}).input("c", {}, kOnnxBool);
  model.input("trip", {}, kOnnxInt64).input("from", {}, kOnnxInt64).output("y").output("z", kOnnxInt64);
  model.output("w");
  model.node("If", {"c"}, {"y"}, {onnxGraph("then_branch", onTrue), onnxGraph("else_branch", onFalse)},
             "choice");
  OnnxBuilder body(16);
  body.input("n", {}, kOnnxInt64).input("go", {}, kOnnxBool).input("v", {}, kOnnxInt64).input("s", {});
  body.output("more", kOnnxBool).output("next", kOnnxInt64).output("sum");
  body.node("Identity", {"go"}, {"more"}).node("Add", {"v", "one"}, {"next"});
  body.node("Gather", {"x", "v"}, {"read"}, {}, "inner").node("Add", {"s", "read"}, {"sum"});
  model.initializer(onnxTensor("one", {}, Longs{1}))
      .initializer(onnxTensor("zero", {}, std::vector<float>{0}));
  model.node("Loop", {"trip", "", "from", "zero"}, {"z", "w"}, {onnxGraph("body", body)}, "walk");
  const Status built = build(model);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_THAT(result_.indexChecks, ElementsAre("choice", "walk"));
  auto inputs = [&](bool condition, std::int64_t trip, std::int64_t from) {
    return std::vector<NamedTensor>{
        floats("x", {4}, {1, 2, 3, 4}),
        longs("at", {2, 1}, {4, -5}),
        floats("new", {2}, {7, 8}),
        tensor("c", DType::kBool, {},
               std::vector<std::uint8_t>{condition ? std::uint8_t{1} : std::uint8_t{0}}),
        longs("trip", {}, {trip}),
        longs("from", {}, {from})};
  };
  EXPECT_THAT(counted(inputs(true, 0, 0)), ElementsAre(2, 0));
  EXPECT_THAT(counted(inputs(false, 10, -4)), ElementsAre(0, 2));
  EXPECT_THAT(counted(inputs(true, 3, 9)), ElementsAre(2, 3));
}

TEST_F(CountedIndices, ADeviceCountsToo) {
  if (!fs::exists(codegen::ptxasOf(KILN_TOOLCHAIN_LIB))) GTEST_SKIP() << "the build tree has no ptxas";
  const Status built = build(lookup(40), {}, "cuda:sm_90a");
  ASSERT_TRUE(built) << built.error().message;
  ASSERT_EQ(result_.devices.size(), 1u);
  ::setenv("KILN_EMULATED_KERNELS", (directory_ / "emulation").c_str(), 1);
  const NamedTensor table = floats("table", {8, 16}, std::vector<float>(128, 1));
  Longs ids(40, 7);
  EXPECT_THAT(counted({table, longs("ids", {40}, ids)}, KILN_EMULATED_CUDA), ElementsAre(0));
  ids[3] = 8;
  ids[39] = -9;
  EXPECT_THAT(counted({table, longs("ids", {40}, ids)}, KILN_EMULATED_CUDA), ElementsAre(2));
}

TEST_F(CountedIndices, TheReferenceCountsTheSame) {
  const std::string path = directory_ / "model.onnx";
  std::ofstream(path, std::ios::binary) << lookup(5).build();
  const reference::HostTensor ids = reference::HostTensor::of(DType::kI64, {5}, Longs{0, 8, -9, 7, -8});
  const auto result = evaluateReference(path, {}, {}, {}, 1, {{"ids", ids}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->outputValues.size(), 1u);
  EXPECT_THAT(result->outOfRange, ElementsAre(testing::Pair("embed", 2)));
}

}  // namespace
}  // namespace kiln::driver
