// ONNX operators with dimensions that a profile gives as a range: in batch, height and width, and sequence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/dynamic/model.h"

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

}  // namespace
}  // namespace kiln::testing
