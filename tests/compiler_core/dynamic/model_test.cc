// ONNX operators with dimensions that a profile gives as a range: in batch, height and width, and sequence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "compiler_core/driver/compiler.h"
#include "tests/compiler_core/dynamic/model.h"
#include "tests/compiler_core/host/program_host.h"
#include "tests/support/temp_directory.h"

namespace kiln::testing {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

void check(const OnnxBuilder& model, std::vector<analysis::ProfileDim> dims) {
  auto passed = checkModel({model, {{"p", std::move(dims)}}, {}});
  EXPECT_TRUE(passed) << passed.error().message;
}

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 64);
  return values;
}

TEST(DynamicModel, PerceptronInTheBatch) {
  OnnxBuilder model;
  model.input("x", {"N", 12})
      .output("y")
      .initializer(onnxTensor("w", {12, 40}, ramp(480)))
      .initializer(onnxTensor("b", {40}, ramp(40)))
      .node("MatMul", {"x", "w"}, {"0"})
      .node("Add", {"0", "b"}, {"1"})
      .node("Relu", {"1"}, {"2"})
      .node("Softmax", {"2"}, {"y"}, {onnxInt("axis", -1)});
  check(model, {{"N", 1, 8, 33}});
}

TEST(DynamicModel, ReshapeFollowsShapeComputations) {
  // [N, S, 12] -> [N, S, 3, 4] -> [N, 3, S, 4], the shape computed from the input's.
  OnnxBuilder model;
  model.input("x", {"N", "S", 12})
      .output("y")
      .initializer(onnxTensor("first", {}, std::vector<std::int64_t>{0}))
      .initializer(onnxTensor("second", {}, std::vector<std::int64_t>{1}))
      .initializer(onnxTensor("axis", {1}, std::vector<std::int64_t>{0}))
      .initializer(onnxTensor("tail", {2}, std::vector<std::int64_t>{3, 4}))
      .node("Shape", {"x"}, {"shape"})
      .node("Gather", {"shape", "first"}, {"n"}, {onnxInt("axis", 0)})
      .node("Gather", {"shape", "second"}, {"s"}, {onnxInt("axis", 0)})
      .node("Unsqueeze", {"n", "axis"}, {"n1"})
      .node("Unsqueeze", {"s", "axis"}, {"s1"})
      .node("Concat", {"n1", "s1", "tail"}, {"target"}, {onnxInt("axis", 0)})
      .node("Reshape", {"x", "target"}, {"heads"})
      .node("Transpose", {"heads"}, {"y"}, {onnxInts("perm", {0, 2, 1, 3})});
  check(model, {{"N", 1, 2, 3}, {"S", 1, 16, 50}});
}

TEST(DynamicModel, SlicesThatTheRangesDecide) {
  OnnxBuilder model;
  model.input("x", {"S", 6})
      .output("a")
      .output("b")
      .output("c")
      .initializer(onnxTensor("one", {1}, std::vector<std::int64_t>{1}))
      .initializer(onnxTensor("last", {1}, std::vector<std::int64_t>{-1}))
      .initializer(onnxTensor("far", {1}, std::vector<std::int64_t>{std::int64_t{1} << 62}))
      .initializer(onnxTensor("axis", {1}, std::vector<std::int64_t>{0}))
      .initializer(onnxTensor("low", {1}, std::vector<std::int64_t>{-(std::int64_t{1} << 62)}))
      .node("Slice", {"x", "one", "far", "axis"}, {"a"})
      .node("Slice", {"x", "last", "low", "axis", "last"}, {"b"})
      .node("Slice", {"x", "one", "last", "axis"}, {"c"});
  check(model, {{"S", 3, 10, 40}});
}

TEST(DynamicModel, MeansAndProfilesSideBySide) {
  OnnxBuilder model;
  model.input("x", {"N", "S", 8})
      .output("y")
      .initializer(onnxTensor("w", {8, 8}, ramp(64)))
      .node("MatMul", {"x", "w"}, {"0"})
      .node("ReduceMean", {"0"}, {"1"}, {onnxInts("axes", {1}), onnxInt("keepdims", 1)})
      .node("Sub", {"0", "1"}, {"y"});
  auto passed = checkModel({model,
                            {{"one", {{"N", 1, 1, 1}, {"S", 4, 4, 4}}},
                             {"small", {{"N", 1, 2, 4}, {"S", 1, 5, 9}}},
                             {"long", {{"N", 1, 1, 2}, {"S", 10, 100, 300}}}},
                            {}});
  EXPECT_TRUE(passed) << passed.error().message;
}

TEST(DynamicModel, AnElementOfAnInputGivesAShape) {
  OnnxBuilder model;
  model.input("x", {1, 5}).input("shape", {2}, kOnnxInt64).output("y").node("Expand", {"x", "shape"}, {"y"});
  auto passed = checkModel({model, {{"p", {{"shape[0]", 1, 3, 9}, {"shape[1]", 5, 5, 5}}}}, {}});
  EXPECT_TRUE(passed) << passed.error().message;
}

TEST(DynamicModel, ConvolutionInBatchHeightAndWidth) {
  OnnxBuilder model;
  model.input("x", {"N", 3, "H", "W"})
      .output("y")
      .initializer(onnxTensor("w", {8, 3, 3, 3}, ramp(216)))
      .initializer(onnxTensor("b", {8}, ramp(8)))
      .node("Conv", {"x", "w", "b"}, {"0"}, {onnxInts("pads", {1, 1, 1, 1}), onnxInts("strides", {2, 2})})
      .node("Relu", {"0"}, {"1"})
      .node("MaxPool", {"1"}, {"2"}, {onnxInts("kernel_shape", {2, 2})})
      .node("GlobalAveragePool", {"2"}, {"y"});
  check(model, {{"N", 1, 2, 3}, {"H", 7, 16, 33}, {"W", 5, 20, 41}});
}

TEST(DynamicModel, SamePaddingAndAveragesAtTheBorder) {
  OnnxBuilder model;
  model.input("x", {1, 2, "H", 9})
      .output("y")
      .initializer(onnxTensor("w", {4, 2, 3, 3}, ramp(72)))
      .node("Conv", {"x", "w"}, {"0"}, {onnxText("auto_pad", "SAME_UPPER")})
      .node("AveragePool", {"0"}, {"y"}, {onnxInts("kernel_shape", {3, 3}), onnxInts("pads", {1, 1, 1, 1})});
  check(model, {{"H", 4, 10, 25}});
}

TEST(DynamicModel, AttentionOverASequence) {
  OnnxBuilder model;
  model.input("q", {"N", 2, "S", 8})
      .input("k", {"N", 2, "T", 8})
      .input("v", {"N", 2, "T", 8})
      .output("y")
      .node("Transpose", {"k"}, {"kt"}, {onnxInts("perm", {0, 1, 3, 2})})
      .node("MatMul", {"q", "kt"}, {"scores"})
      .node("Softmax", {"scores"}, {"weights"}, {onnxInt("axis", -1)})
      .node("MatMul", {"weights", "v"}, {"y"});
  check(model, {{"N", 1, 1, 2}, {"S", 1, 12, 40}, {"T", 1, 30, 70}});
}

TEST(DynamicModel, GatherConcatAndWhere) {
  OnnxBuilder model;
  model.input("table", {20, 6})
      .input("x", {"S", 6})
      .output("y")
      .initializer(onnxTensor("ids", {3}, std::vector<std::int64_t>{4, -1, 0}))
      .initializer(onnxTensor("zero", {}, std::vector<float>{0}))
      .node("Gather", {"table", "ids"}, {"rows"}, {onnxInt("axis", 0)})
      .node("Concat", {"rows", "x"}, {"all"}, {onnxInt("axis", 0)})
      .node("Greater", {"all", "zero"}, {"mask"})
      .node("Neg", {"all"}, {"minus"})
      .node("Where", {"mask", "all", "minus"}, {"y"});
  check(model, {{"S", 1, 7, 30}});
}

TEST(DynamicModel, SizesThatValuesDecide) {
  OnnxBuilder model;
  model.input("x", {"S"}).output("y", kOnnxInt64).node("NonZero", {"x"}, {"y"});
  check(model, {{"S", 1, 9, 50}});
}

TEST(DynamicModel, SizesThatValuesDecideAreStatedForTheSizesOfTheRun) {
  OnnxBuilder model;
  model.input("x", {"S", 3}, kOnnxInt64).output("y", kOnnxInt64).node("NonZero", {"x"}, {"y"});
  const TempDirectory directory;
  driver::CompileRequest request;
  request.model = directory / "model.onnx";
  std::ofstream(request.model, std::ios::binary) << model.build();
  request.target = *parseTarget("cpu:x86-64-v3");
  request.profiles = {{"p", {{"S", 1, 9, 50}}}};
  request.toolchainLib = KILN_TOOLCHAIN_LIB;
  request.out = directory.path();
  ASSERT_TRUE(driver::compile(request));
  std::ifstream file(directory / "program.so", std::ios::binary);
  std::ostringstream elf;
  elf << file.rdbuf();
  const auto host = ProgramHost::load(elf.str());
  ASSERT_TRUE(host);
  for (const std::int64_t size : {1, 9, 50})
    EXPECT_THAT(host->shapes(0, std::vector<std::int64_t>{size}), ::testing::ElementsAre(2, 3 * size));
}

// The sum of the positions that are not 0.
OnnxBuilder sumOfPositions(const char* result) {
  OnnxBuilder body;
  body.node("NonZero", {"x"}, {"at"})
      .node("ReduceSum", {"at"}, {"sum"}, {onnxInt("keepdims", 0)})
      .node("Cast", {"sum"}, {result}, {onnxInt("to", kOnnxFloat)});
  return body;
}

TEST(DynamicModel, SizesThatValuesDecideInABranch) {
  OnnxBuilder onTrue = sumOfPositions("t"), onFalse;
  onTrue.output("t");
  onFalse.node("Cast", {"x"}, {"real"}, {onnxInt("to", kOnnxFloat)})
      .node("ReduceMax", {"real"}, {"f"}, {onnxInt("keepdims", 0)})
      .output("f");
  for (const bool negate : {false, true}) {
    OnnxBuilder model;
    model.input("x", {"S", 3}, kOnnxInt64).input("c", {}, kOnnxBool).output("y");
    if (negate) model.node("Not", {"c"}, {"d"});
    model.node("If", {negate ? "d" : "c"}, {"y"},
               {onnxGraph("then_branch", onTrue), onnxGraph("else_branch", onFalse)});
    check(model, {{"S", 1, 9, 50}});
  }
}

TEST(DynamicModel, SizesThatValuesDecideInALoopNeedItsTripCount) {
  OnnxBuilder body = sumOfPositions("more");
  body.input("i", {}, kOnnxInt64)
      .input("go", {}, kOnnxBool)
      .input("total", {})
      .node("Identity", {"go"}, {"on"})
      .node("Add", {"total", "more"}, {"next"})
      .output("on", kOnnxBool)
      .output("next");
  OnnxBuilder model;
  model.input("x", {"S", 3}, kOnnxInt64)
      .input("trips", {}, kOnnxInt64)
      .output("y")
      .initializer(onnxTensor("zero", {}, std::vector<float>{0}))
      .node("Loop", {"trips", "", "zero"}, {"y"}, {onnxGraph("body", body)});
  auto refused = checkModel({model, {{"p", {{"S", 1, 9, 50}}}}, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().message, HasSubstr("whose body finds out a size in each"));
  EXPECT_THAT(refused.error().message, HasSubstr("--pin trips="));
  // Unrolled, each iteration has a size of its own.
  OnnxBuilder three;
  three.input("x", {"S", 3}, kOnnxInt64)
      .output("y")
      .initializer(onnxTensor("trips", {}, std::vector<std::int64_t>{3}))
      .initializer(onnxTensor("zero", {}, std::vector<float>{0}))
      .node("Loop", {"trips", "", "zero"}, {"y"}, {onnxGraph("body", body)});
  check(three, {{"S", 1, 9, 50}});
}

TEST(DynamicModel, NormalisationOverTheLastDimension) {
  OnnxBuilder model;
  model.input("x", {"N", "S", 16})
      .output("y")
      .initializer(onnxTensor("scale", {16}, ramp(16)))
      .initializer(onnxTensor("bias", {16}, ramp(16)))
      .node("LayerNormalization", {"x", "scale", "bias"}, {"y"});
  check(model, {{"N", 1, 2, 3}, {"S", 1, 10, 35}});
}

TEST(DynamicModel, WhatTheRangesDoNotDecideIsRefused) {
  OnnxBuilder model;
  model.input("x", {"N", 4})
      .output("y")
      .initializer(onnxTensor("target", {2}, std::vector<std::int64_t>{8, -1}))
      .node("Reshape", {"x", "target"}, {"y"});
  auto refused = checkModel({model, {{"p", {{"N", 2, 4, 8}}}}, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().message, HasSubstr("is not known at compile time"));
}

TEST(DynamicModel, ExtentsThatMayFitAreNotTheModelsFault) {
  OnnxBuilder model;
  model.input("x", {"N", 4})
      .input("z", {"M", 4})
      .output("y")
      .node("Concat", {"x", "z"}, {"y"}, {onnxInt("axis", 1)});
  auto refused = checkModel({model, {{"p", {{"M", 2, 4, 8}, {"N", 2, 4, 8}}}}, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().message,
              HasSubstr("whether extents N and M of dimension 0 are the same is not known"));
}

TEST(DynamicModel, TheMiddleOfAnImage) {
  for (const std::int64_t size : {4, 40}) {
    OnnxBuilder model(18);
    model.input("x", {2, "H"})
        .output("y")
        .initializer(onnxTensor("shape", {1}, std::vector<std::int64_t>{size}))
        .node("CenterCropPad", {"x", "shape"}, {"y"}, {onnxInts("axes", {1})});
    check(model, {{"H", 4, 9, 40}});
  }
}

TEST(DynamicModel, FramesOfASignal) {
  OnnxBuilder model;
  model.input("x", {"N", "S", 1})
      .output("y")
      .initializer(onnxTensor("step", {}, std::vector<std::int64_t>{3}))
      .initializer(onnxTensor("window", {8}, ramp(8)))
      .node("STFT", {"x", "step", "window"}, {"y"});
  check(model, {{"N", 1, 2, 3}, {"S", 8, 20, 61}});
  auto refused = checkModel({model, {{"p", {{"N", 1, 1, 1}, {"S", 7, 20, 61}}}}, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().message, HasSubstr("whether a frame of 8 fits"));
}

// Two levels of a feature pyramid and a head over the cells of both: x [N, 8, H, W], halved, halved again,
// and doubled back beside it. That both halves are as large holds for even sizes only.
OnnxBuilder pyramid() {
  OnnxBuilder model;
  std::vector<float> other = ramp(576);
  std::ranges::reverse(other);
  const std::vector<ProtoMessage> halving{onnxInts("kernel_shape", {3, 3}), onnxInts("strides", {2, 2}),
                                          onnxInts("pads", {1, 1, 1, 1})};
  model.input("x", {"N", 8, "H", "W"})
      .output("y")
      .initializer(onnxTensor("w1", {8, 8, 3, 3}, ramp(576)))
      .initializer(onnxTensor("w2", {8, 8, 3, 3}, other))
      .initializer(onnxTensor("scales", {4}, std::vector<float>{1, 1, 2, 2}))
      .initializer(onnxTensor("flat", {3}, std::vector<std::int64_t>{0, 16, -1}))
      .node("Conv", {"x", "w1"}, {"p1"}, halving)
      .node("Conv", {"p1", "w2"}, {"p2"}, halving)
      .node("Resize", {"p2", "", "scales"}, {"up"},
            {onnxText("mode", "nearest"), onnxText("coordinate_transformation_mode", "asymmetric"),
             onnxText("nearest_mode", "floor")})
      .node("Concat", {"p1", "up"}, {"both"}, {onnxInt("axis", 1)})
      .node("Reshape", {"both", "flat"}, {"y"});
  return model;
}

TEST(DynamicModel, ProfilesThatOnlyEachForItselfSettleAreCompiledEachForItself) {
  const std::vector<analysis::Profile> profiles{
      {"small", {{"N", 1, 2, 3}, {"H", 16, 16, 16}, {"W", 24, 24, 24}}},
      {"large", {{"N", 1, 1, 2}, {"H", 32, 32, 32}, {"W", 8, 8, 8}}},
      {"one", {{"N", 1, 1, 1}, {"H", 20, 20, 20}, {"W", 20, 20, 20}}}};
  auto passed = checkModel({pyramid(), profiles, {}});
  EXPECT_TRUE(passed) << passed.error().message;
  // The weights are there once, and the size that differs is said in words.
  const TempDirectory directory;
  driver::CompileRequest request;
  request.model = directory / "model.onnx";
  std::ofstream(request.model, std::ios::binary) << pyramid().build();
  request.target = *parseTarget("cpu:x86-64-v3");
  request.profiles = profiles;
  request.toolchainLib = KILN_TOOLCHAIN_LIB;
  request.out = directory.path();
  auto result = driver::compile(request);
  ASSERT_TRUE(result) << result.error().message;
  std::set<Digest> distinct;
  for (const auto& weight : result->weights) distinct.insert(weight.digest);
  EXPECT_EQ(distinct.size(), result->weights.size());
  EXPECT_THAT(result->outputs.front().dimNames, ::testing::ElementsAre("N or 1", "", "96 or 64 or 100"));
  EXPECT_THAT(result->inputs.front().dimNames, ::testing::ElementsAre("N", "", "H", "W"));
  // One range over the same sizes settles nothing, and a profile that cannot be is named.
  auto ranged = checkModel({pyramid(), {{"p", {{"N", 1, 1, 1}, {"H", 16, 16, 32}, {"W", 8, 8, 24}}}}, {}});
  ASSERT_FALSE(ranged);
  EXPECT_EQ(ranged.error().code, Code::kUnimplemented);
  auto odd = profiles;
  odd[1].dims[1] = {"H", 30, 30, 30};
  auto refused = checkModel({pyramid(), odd, {}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("profile 'large'"));
}

TEST(DynamicModel, NothingOfASymbolicShapeIsRefused) {
  OnnxBuilder model;
  model.input("x", {"N", 6})
      .output("y")
      .initializer(onnxTensor("from", {1}, std::vector<std::int64_t>{100}))
      .initializer(onnxTensor("to", {1}, std::vector<std::int64_t>{200}))
      .initializer(onnxTensor("axis", {1}, std::vector<std::int64_t>{1}))
      .node("Slice", {"x", "from", "to", "axis"}, {"y"});
  auto refused = checkModel({model, {{"p", {{"N", 2, 4, 8}}}}, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().message, HasSubstr("without elements"));
}

// A detection network in small: five layers of stride 2, the last three joined again on the way up, and the
// positions of all of them in one result.
OnnxBuilder detector() {
  OnnxBuilder model;
  model.input("image", {1, 3, "height", "width"})
      .output("found")
      .initializer(onnxTensor("w0", {4, 3, 3, 3}, ramp(108)))
      .initializer(onnxTensor("twice", {4}, std::vector<float>{1, 1, 2, 2}))
      .initializer(onnxTensor("rows", {3}, std::vector<std::int64_t>{1, 4, -1}));
  for (const char* name : {"w1", "w2", "w3", "w4", "head8", "head16", "head32"})
    model.initializer(onnxTensor(name, {4, 4, 3, 3}, ramp(144)));
  for (const char* name : {"up16", "up8"}) model.initializer(onnxTensor(name, {4, 8, 1, 1}, ramp(32)));
  const auto around = onnxInts("pads", {1, 1, 1, 1});
  std::string last = "image";
  for (const std::string layer : {"0", "1", "2", "3", "4"}) {
    model.node("Conv", {last, "w" + layer}, {"c" + layer}, {around, onnxInts("strides", {2, 2})});
    model.node("Relu", {"c" + layer}, {"r" + layer});
    last = "r" + layer;
  }
  model.node("MaxPool", {"r4"}, {"pooled"},
             {onnxInts("kernel_shape", {5, 5}), onnxInts("pads", {2, 2, 2, 2}), onnxInts("strides", {1, 1})});
  model.node("Add", {"r4", "pooled"}, {"p32"});
  model.node("Resize", {"p32", "", "twice"}, {"big16"}, {onnxText("mode", "nearest")})
      .node("Concat", {"big16", "r3"}, {"both16"}, {onnxInt("axis", 1)}, "join16")
      .node("Conv", {"both16", "up16"}, {"p16"})
      .node("Resize", {"p16", "", "twice"}, {"big8"}, {onnxText("mode", "nearest")})
      .node("Concat", {"big8", "r2"}, {"both8"}, {onnxInt("axis", 1)}, "join8")
      .node("Conv", {"both8", "up8"}, {"p8"});
  for (const std::string scale : {"8", "16", "32"}) {
    model.node("Conv", {"p" + scale, "head" + scale}, {"h" + scale}, {around});
    model.node("Reshape", {"h" + scale, "rows"}, {"f" + scale});
  }
  model.node("Concat", {"f8", "f16", "f32"}, {"all"}, {onnxInt("axis", 2)})
      .node("Transpose", {"all"}, {"found"}, {onnxInts("perm", {0, 2, 1})});
  return model;
}

TEST(Multiples, ADetectorOfAnyHeightAndWidth) {
  const auto without =
      checkModel({detector(), {{"p", {{"height", 32, 64, 160}, {"width", 32, 96, 128}}}}, {}});
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, Code::kUnimplemented);
  EXPECT_THAT(without.error().message, HasSubstr("join16"));
  EXPECT_THAT(without.error().message, HasSubstr("min:opt:max:multiple"));

  const auto passed = checkModel({detector(),
                                  {{"p", {{"height", 32, 64, 160, 32}, {"width", 32, 96, 128, 32}}}},
                                  {{{"height", 32}, {"width", 32}},
                                   {{"height", 64}, {"width", 96}},
                                   {{"height", 160}, {"width", 32}},
                                   {{"height", 96}, {"width", 128}}}});
  EXPECT_TRUE(passed) << passed.error().message;
}

// Of each profile only what it says itself, and of all what divides them.
TEST(Multiples, OfSeveralProfiles) {
  const auto passed = checkModel({detector(),
                                  {{"one", {{"height", 64, 64, 64}, {"width", 96, 96, 96}}},
                                   {"wide", {{"height", 32, 32, 64, 32}, {"width", 64, 128, 192, 64}}},
                                   {"tall", {{"height", 96, 96, 192, 96}, {"width", 32, 32, 32}}}},
                                  {}});
  EXPECT_TRUE(passed) << passed.error().message;
}

TEST(Multiples, OfAnElementOfAnInput) {
  OnnxBuilder model;
  model.input("x", {1, 5})
      .input("shape", {2}, kOnnxInt64)
      .output("y")
      .initializer(onnxTensor("rest", {2}, std::vector<std::int64_t>{2, -1}))
      .node("Expand", {"x", "shape"}, {"wide"})
      .node("Reshape", {"wide", "rest"}, {"y"});
  const auto passed = checkModel({model, {{"p", {{"shape[0]", 2, 4, 10, 2}, {"shape[1]", 5, 5, 5}}}}, {}});
  EXPECT_TRUE(passed) << passed.error().message;
}

TEST(Multiples, OutputsAreWrittenInSizes) {
  const TempDirectory directory;
  driver::CompileRequest request;
  request.model = directory / "model.onnx";
  std::ofstream(request.model, std::ios::binary) << detector().build();
  request.target = *parseTarget("cpu:x86-64-v3");
  request.profiles = {{"p", {{"height", 32, 64, 160, 32}, {"width", 64, 64, 64}}}};
  const auto result = driver::compile(request);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->inputs[0].dimNames[2], "height");
  EXPECT_EQ(result->outputs[0].dimNames[1], "(height floordiv 16) * 21");
}

// A dry run that asks for padding.
Result<driver::CompileResult> padded(const OnnxBuilder& model, std::vector<analysis::ProfileDim> dims) {
  const TempDirectory directory;
  driver::CompileRequest request;
  request.model = directory / "model.onnx";
  std::ofstream(request.model, std::ios::binary) << model.build();
  request.target = *parseTarget("cpu:x86-64-v3");
  request.profiles = {{"p", std::move(dims)}};
  request.pad = true;
  return driver::compile(request);
}

TEST(Padding, ABatchMayBePadded) {
  OnnxBuilder model;
  model.input("x", {"N", 3, 8, 8})
      .output("y")
      .initializer(onnxTensor("w", {4, 3, 3, 3}, ramp(108)))
      .node("Conv", {"x", "w"}, {"0"})
      .node("Flatten", {"0"}, {"1"})
      .node("Softmax", {"1"}, {"y"}, {onnxInt("axis", -1)});
  for (std::int64_t least : {1, 8}) {
    auto result = padded(model, {{"N", least, 8, 8}});
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->symbols.size(), 1u);
    EXPECT_TRUE(result->symbols[0].pad);
  }
}

TEST(Padding, ABatchOfMultiplesMayBePadded) {
  OnnxBuilder model;
  model.input("x", {"N", 3}).output("y").node("Softmax", {"x"}, {"y"}, {onnxInt("axis", -1)});
  auto result = padded(model, {{"N", 8, 8, 32, 4}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->symbols[0].pad);
}

TEST(Padding, WhatLooksAcrossADimensionIsNamed) {
  OnnxBuilder mean;
  mean.input("x", {"N", 3})
      .output("y")
      .node("ReduceMean", {"x"}, {"y"}, {onnxInts("axes", {0}), onnxInt("keepdims", 1)}, "average");
  auto refused = padded(mean, {{"N", 1, 4, 8}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().message,
              HasSubstr("dimension 'N' cannot be padded, kiln.reduce of node 'average'"));

  OnnxBuilder image;
  image.input("x", {1, 3, "H", 8})
      .output("y")
      .node("MaxPool", {"x"}, {"y"}, {onnxInts("kernel_shape", {2, 2})}, "pool");
  refused = padded(image, {{"H", 4, 8, 16}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("dimension 'H' cannot be padded, kiln.pool of node 'pool'"));

  OnnxBuilder merged;
  merged.input("x", {"N", 4, 2})
      .output("y")
      .initializer(onnxTensor("shape", {2}, std::vector<std::int64_t>{-1, 2}))
      .node("Reshape", {"x", "shape"}, {"y"}, {}, "rows");
  refused = padded(merged, {{"N", 1, 4, 8}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("node 'rows' mixes it with other dimensions"));
}

}  // namespace
}  // namespace kiln::testing
