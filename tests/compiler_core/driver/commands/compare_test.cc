// kiln-compare's work: a right program agrees everywhere, a wrong function is named. The wrong one is in a
// toolchain whose tanh and erf have changed places.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/commands/compare_model.h"
#include "compiler_core/runtime/npy/npy.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temp_directory.h"

namespace kiln::driver {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 0.01f * static_cast<float>(i % 37) - 0.15f;
  return values;
}

class Compare : public ::testing::Test {
 protected:
  Result<CompareReport> compare(const OnnxBuilder& model, const char* toolchain,
                                const std::vector<std::string>& profile = {}) {
    const std::string path = directory_ / "model.onnx";
    std::ofstream(path, std::ios::binary) << model.build();
    ModelArguments arguments;
    arguments.model = path;
    arguments.profile = profile;
    auto spec = makeSpec(arguments);
    if (!spec) return fail(spec.error().error);
    auto compile = requestFor(path, *spec, toolchain);
    if (!compile) return fail(compile.error().error);
    request_.compile = std::move(*compile);
    request_.spec = std::move(*spec);
    return compareModel(request_);
  }

  TempDirectory directory_;
  CompareRequest request_;
};

// A product whose bias and tanh are part of its kernel, then another product.
OnnxBuilder perceptron(const OnnxDim& batch = 4) {
  OnnxBuilder model(17);
  model.input("x", {batch, 64}).output("y");
  model.initializer(onnxTensor("w1", {64, 48}, ramp(64 * 48))).initializer(onnxTensor("b1", {48}, ramp(48)));
  model.initializer(onnxTensor("w2", {48, 8}, ramp(48 * 8)));
  model.node("MatMul", {"x", "w1"}, {"p"}, {}, "fc1").node("Add", {"p", "b1"}, {"q"}, {}, "bias1");
  model.node("Tanh", {"q"}, {"r"}, {}, "act1").node("MatMul", {"r", "w2"}, {"s"}, {}, "fc2");
  model.node("Exp", {"s"}, {"y"}, {}, "last");
  return model;
}

TEST_F(Compare, ARightProgramAgreesEverywhere) {
  request_.everyNode = true;
  const auto report = compare(perceptron(), KILN_TOOLCHAIN);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->agrees());
  ASSERT_EQ(report->outputs.size(), 1u);
  EXPECT_EQ(report->outputs[0].what, "y");
  EXPECT_GE(report->kernels.size(), 2u);
  EXPECT_LT(report->kernels.size(), 5u) << "what is seen between kernels is fused";
  EXPECT_GE(report->nodes.size(), 5u);
}

// What a program counts about its indices stands behind what is compared.
TEST_F(Compare, CountsOfIndicesAreNoOutput) {
  request_.everyNode = true;
  OnnxBuilder model(17);
  model.input("x", {8, 16}).input("ids", {5}, kOnnxInt64).output("y");
  model.node("Gather", {"x", "ids"}, {"g"}, {}, "embed").node("Exp", {"g"}, {"y"}, {}, "last");
  const auto report = compare(model, KILN_TOOLCHAIN);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->agrees());
  ASSERT_EQ(report->outputs.size(), 1u);
  EXPECT_EQ(report->outputs[0].what, "y");
  for (const Compared& node : report->nodes)
    EXPECT_THAT(node.nodes, Contains(testing::AnyOf("embed", "last")));
}

TEST_F(Compare, AWrongFunctionInAFusedKernelIsNamed) {
  const auto report = compare(perceptron(), KILN_WRONG_TOOLCHAIN);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->agrees());
  EXPECT_TRUE(firstWrong(report->outputs));
  const Compared* kernel = firstWrong(report->kernels);
  ASSERT_TRUE(kernel);
  EXPECT_THAT(kernel->nodes, ElementsAre("fc1", "bias1", "act1"));
  EXPECT_THAT(kernel->what, HasSubstr("kiln.matmul + "));
  EXPECT_THAT(kernel->what, HasSubstr("kiln.unary tanh"));
  const Compared* node = firstWrong(report->nodes);
  ASSERT_TRUE(node);
  EXPECT_THAT(node->nodes, ElementsAre("act1"));
  EXPECT_EQ(node->what, "kiln.unary tanh");
  EXPECT_THAT(node->expected, ElementsAre(4, 48));
  EXPECT_GT(node->comparison->maxAbsolute, 1e-3);
}

TEST_F(Compare, WithSymbolsAtTheProfilesOpt) {
  const auto right = compare(perceptron("N"), KILN_TOOLCHAIN, {"N=1:3:6"});
  ASSERT_TRUE(right) << right.error().message;
  EXPECT_TRUE(right->agrees());
  EXPECT_THAT(right->kernels.back().got, ElementsAre(3, 8));
  const auto wrong = compare(perceptron("N"), KILN_WRONG_TOOLCHAIN, {"N=1:3:6"});
  ASSERT_TRUE(wrong) << wrong.error().message;
  ASSERT_TRUE(firstWrong(wrong->nodes));
  EXPECT_THAT(firstWrong(wrong->nodes)->nodes, ElementsAre("act1"));
}

// A loop of 100 trips, and an If that only a run decides, each one operation.
OnnxBuilder controlled() {
  OnnxBuilder body(17), yes(17), no(17), model(17);
  body.input("i", {}, kOnnxInt64).input("more", {}, kOnnxBool).input("c", {5});
  body.node("Identity", {"more"}, {"again"}).node("Tanh", {"c"}, {"t"}).node("Add", {"t", "x"}, {"next"});
  body.output("again", kOnnxBool).output("next");
  yes.node("Exp", {"looped"}, {"a"}).output("a");
  no.node("Neg", {"looped"}, {"b"}).output("b");
  model.input("x", {5}).output("y");
  model.initializer(onnxTensor("trips", {}, std::vector<std::int64_t>{100}));
  model.initializer(onnxTensor("zero", {}, std::vector<float>{0}));
  model.node("Neg", {"x"}, {"start"}, {}, "first");
  model.node("Loop", {"trips", "", "start"}, {"looped"}, {onnxGraph("body", body)}, "loop");
  model.node("ReduceSum", {"looped"}, {"sum"}, {onnxInt("keepdims", 0)}, "sum");
  model.node("Less", {"zero", "sum"}, {"positive"}, {}, "less");
  model.node("If", {"positive"}, {"y"}, {onnxGraph("then_branch", yes), onnxGraph("else_branch", no)},
             "branch");
  return model;
}

TEST_F(Compare, BodiesAreOneOperation) {
  request_.everyNode = true;
  const auto right = compare(controlled(), KILN_TOOLCHAIN);
  ASSERT_TRUE(right) << right.error().message;
  EXPECT_TRUE(right->agrees());
  const auto wrong = compare(controlled(), KILN_WRONG_TOOLCHAIN);
  ASSERT_TRUE(wrong) << wrong.error().message;
  ASSERT_TRUE(firstWrong(wrong->nodes));
  EXPECT_EQ(firstWrong(wrong->nodes)->what, "kiln.loop");
  EXPECT_THAT(firstWrong(wrong->nodes)->nodes, ElementsAre("loop"));
}

TEST_F(Compare, SizesThatTheRunFindsOut) {
  OnnxBuilder model(17);
  model.input("x", {3, 4}).output("y", kOnnxInt64);
  model.node("Relu", {"x"}, {"r"}, {}, "relu").node("NonZero", {"r"}, {"y"}, {}, "where");
  request_.everyNode = true;
  const auto report = compare(model, KILN_TOOLCHAIN);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->agrees());
  EXPECT_EQ(report->outputs[0].got, report->outputs[0].expected);
}

// In a tensor without elements there is nothing to find out.
TEST_F(Compare, NothingIsFoundInNothing) {
  OnnxBuilder model(17);
  model.input("x", {2, 0}).output("positions", kOnnxInt64).output("kept").output("distinct");
  model.initializer(onnxTensor("none", {0}, std::vector<std::int64_t>{}));
  model.node("NonZero", {"x"}, {"positions"}).node("Cast", {"none"}, {"no"}, {onnxInt("to", kOnnxBool)});
  model.node("Compress", {"x", "no"}, {"kept"}, {onnxInt("axis", 1)}).node("Unique", {"x"}, {"distinct"});
  const auto report = compare(model, KILN_TOOLCHAIN);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->agrees());
  EXPECT_THAT(report->outputs[0].got, ElementsAre(2, 0));
  EXPECT_THAT(report->outputs[1].got, ElementsAre(2, 0));
  EXPECT_THAT(report->outputs[2].got, ElementsAre(0));
}

TEST_F(Compare, WritesBothTensorsOfEachValue) {
  request_.dump = directory_ / "dump";
  fs::create_directory(request_.dump);
  request_.inputs["x"] = reference::HostTensor::of(DType::kF32, {4, 64}, ramp(4 * 64));
  const auto report = compare(perceptron(), KILN_WRONG_TOOLCHAIN);
  ASSERT_TRUE(report) << report.error().message;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(request_.dump)) names.push_back(entry.path().filename());
  EXPECT_THAT(names, Contains("output-0000-y.got.npy"));
  EXPECT_THAT(names, Contains("kernel-0000-fc1.expected.npy"));
  const auto index = firstWrong(report->nodes) - report->nodes.data();
  const std::string base = fmt::format("{}/node-{:04}-act1", request_.dump, index);
  const auto got = npy::read(base + ".got.npy"), expected = npy::read(base + ".expected.npy");
  ASSERT_TRUE(got && expected);
  EXPECT_EQ(got->shape, expected->shape);
  EXPECT_NE(got->data, expected->data);
}

TEST_F(Compare, RefusesWhatItCannotCompare) {
  request_.inputs["z"] = reference::HostTensor::zeros(DType::kF32, {1});
  auto report = compare(perceptron(), KILN_TOOLCHAIN);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("no input 'z'"));
  request_.inputs.clear();
  request_.inputs["x"] = reference::HostTensor::zeros(DType::kF32, {1});
  report = compare(perceptron(), KILN_TOOLCHAIN);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::kFailedPrecondition) << "the command line is wrong, not the model";
  EXPECT_THAT(report.error().message, HasSubstr("input 'x': expected f32[4,64], got f32[1]"));
  request_.inputs.clear();
  report = compare(perceptron("N"), KILN_TOOLCHAIN, {"small:N=1:1:1", "large:N=2:4:8"});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("several profiles"));
}

}  // namespace
}  // namespace kiln::driver
