// The evaluator against values worked out by hand, one operation at a time, from MLIR text.
#include "compiler_core/reference/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler_core/math/math.h"
#include "mlir/Parser/Parser.h"

namespace kiln::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

// Runs `body` as @main(%x, %y ...) and gives its results.
Result<std::vector<HostTensor>> evaluateText(const std::string& signature, const std::string& body,
                                             const std::vector<HostTensor>& inputs,
                                             const ir::WeightTable& weights = {}) {
  mlir::MLIRContext context;
  context.disableMultithreading();
  context.loadDialect<ir::KilnDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>("func.func @main" + signature + " {\n" + body + "\n}",
                                                        &context);
  if (!module) return fail(Code::kInternal, "the test's text does not parse");
  return evaluate(*module, weights, inputs);
}

HostTensor floats(std::vector<std::int64_t> shape, std::vector<float> values) {
  return HostTensor::of(DType::kF32, std::move(shape), values);
}

template <class T>
std::vector<T> values(const Result<std::vector<HostTensor>>& results) {
  EXPECT_TRUE(results) << (results ? "" : results.error().message);
  if (!results) return {};
  const HostTensor& tensor = results->at(0);
  return {tensor.data<T>(), tensor.data<T>() + tensor.elements()};
}

std::vector<float> unary(const std::string& kind, std::vector<float> input) {
  auto type = "tensor<" + std::to_string(input.size()) + "xf32>";
  return values<float>(evaluateText("(%x: " + type + ") -> " + type,
                                    "%0 = kiln.unary <" + kind + "> %x : " + type + "\nreturn %0 : " + type,
                                    {floats({static_cast<std::int64_t>(input.size())}, input)}));
}

std::vector<float> binary(const std::string& kind, std::vector<float> lhs, std::vector<float> rhs) {
  auto size = static_cast<std::int64_t>(lhs.size());
  auto type = "tensor<" + std::to_string(size) + "xf32>";
  return values<float>(
      evaluateText("(%x: " + type + ", %y: " + type + ") -> " + type,
                   "%0 = kiln.binary <" + kind + "> %x, %y : " + type + "\nreturn %0 : " + type,
                   {floats({size}, lhs), floats({size}, rhs)}));
}

TEST(Evaluator, UnaryKinds) {
  EXPECT_THAT(unary("neg", {1, -2, 0}), ElementsAre(-1, 2, -0.0f));
  EXPECT_THAT(unary("abs", {1, -2, -kInf}), ElementsAre(1, 2, kInf));
  EXPECT_THAT(unary("sqrt", {4, 2, 0}), ElementsAre(2, 1.41421356f, 0));
  EXPECT_THAT(unary("reciprocal", {4, -0.5f, kInf}), ElementsAre(0.25f, -2, 0));
  EXPECT_THAT(unary("ceil", {1.2f, -1.2f}), ElementsAre(2, -1));
  EXPECT_THAT(unary("floor", {1.2f, -1.2f}), ElementsAre(1, -2));
  EXPECT_THAT(unary("round", {0.5f, 1.5f, 2.5f, -0.5f}), ElementsAre(0, 2, 2, -0.0f));
  EXPECT_THAT(unary("relu", {1, -1}), ElementsAre(1, 0));
  EXPECT_TRUE(std::isnan(unary("relu", {kNan})[0]));
  // Every transcendental function is Kiln's own.
  EXPECT_THAT(unary("exp", {0.5f}), ElementsAre(math::exp(0.5f)));
  EXPECT_THAT(unary("log", {0.5f}), ElementsAre(math::log(0.5f)));
  EXPECT_THAT(unary("tanh", {0.5f}), ElementsAre(math::tanh(0.5f)));
  EXPECT_THAT(unary("erf", {0.5f}), ElementsAre(math::erf(0.5f)));
  EXPECT_THAT(unary("sin", {0.5f}), ElementsAre(math::sin(0.5f)));
  EXPECT_THAT(unary("cos", {0.5f}), ElementsAre(math::cos(0.5f)));
  EXPECT_THAT(unary("sigmoid", {0, -kInf, kInf}), ElementsAre(0.5f, 0, 1));
}

TEST(Evaluator, BinaryKinds) {
  EXPECT_THAT(binary("add", {1, 2}, {10, 20}), ElementsAre(11, 22));
  EXPECT_THAT(binary("sub", {1, 2}, {10, 20}), ElementsAre(-9, -18));
  EXPECT_THAT(binary("div", {1, -1, 3}, {0, 0, 2}), ElementsAre(kInf, -kInf, 1.5f));
  EXPECT_THAT(binary("pow", {2, 9}, {10, 0.5f}), ElementsAre(1024, 3));
  EXPECT_THAT(binary("max", {1, -0.0f}, {2, 0.0f}), ElementsAre(2, 0));
  EXPECT_FALSE(std::signbit(binary("max", {-0.0f}, {0.0f})[0]));
  EXPECT_TRUE(std::signbit(binary("min", {-0.0f}, {0.0f})[0]));
  for (auto kind : {"max", "min"}) {
    EXPECT_TRUE(std::isnan(binary(kind, {kNan}, {1})[0]));
    EXPECT_TRUE(std::isnan(binary(kind, {1}, {kNan})[0]));
  }
}

TEST(Evaluator, IntegersWrapAndDivisionByZeroIsZero) {
  auto run = [](const std::string& kind, std::vector<std::int64_t> lhs, std::vector<std::int64_t> rhs) {
    return values<std::int64_t>(
        evaluateText("(%x: tensor<2xi64>, %y: tensor<2xi64>) -> tensor<2xi64>",
                     "%0 = kiln.binary <" + kind + "> %x, %y : tensor<2xi64>\nreturn %0 : tensor<2xi64>",
                     {HostTensor::of(DType::kI64, {2}, lhs), HostTensor::of(DType::kI64, {2}, rhs)}));
  };
  EXPECT_THAT(run("add", {INT64_MAX, 1}, {1, 1}), ElementsAre(INT64_MIN, 2));
  EXPECT_THAT(run("div", {7, INT64_MIN}, {0, -1}), ElementsAre(0, INT64_MIN));
  EXPECT_THAT(run("div", {-7, 7}, {2, -2}), ElementsAre(-3, -3));
  EXPECT_THAT(run("xor", {6, 5}, {3, 5}), ElementsAre(5, 0));
}

TEST(Evaluator, CastsSaturateTruncateAndMapNanToZero) {
  auto result = evaluateText("(%x: tensor<6xf32>) -> tensor<6xi32>",
                             "%0 = kiln.cast %x : tensor<6xf32> to tensor<6xi32>\nreturn %0 : tensor<6xi32>",
                             {floats({6}, {1.9f, -1.9f, 3e9f, -3e9f, kNan, 2147483648.0f})});
  EXPECT_THAT(values<std::int32_t>(result), ElementsAre(1, -1, INT32_MAX, INT32_MIN, 0, INT32_MAX));
}

TEST(Evaluator, SelectAndCompare) {
  auto result =
      evaluateText("(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32>",
                   "%0 = kiln.compare <lt> %x, %y : tensor<3xf32>\n"
                   "%1 = kiln.select %0, %x, %y : tensor<3xi1>, tensor<3xf32>\nreturn %1 : tensor<3xf32>",
                   {floats({3}, {1, 5, kNan}), floats({3}, {2, 4, 9})});
  EXPECT_THAT(values<float>(result), ElementsAre(1, 4, 9));
}

TEST(Evaluator, Movement) {
  HostTensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  auto run = [&](const std::string& operation, const std::string& type) {
    return values<float>(
        evaluateText("(%x: tensor<2x3xf32>) -> " + type, "%0 = " + operation + "\nreturn %0 : " + type, {x}));
  };
  EXPECT_THAT(run("kiln.transpose %x [1, 0] : tensor<2x3xf32> to tensor<3x2xf32>", "tensor<3x2xf32>"),
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(run("kiln.slice %x offsets [1, 2] strides [-1, -2] : tensor<2x3xf32> to tensor<2x2xf32>",
                  "tensor<2x2xf32>"),
              ElementsAre(6, 4, 3, 1));
  EXPECT_THAT(run("kiln.concat %x, %x axis 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>",
                  "tensor<2x6xf32>"),
              ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
  EXPECT_THAT(run("kiln.broadcast %x : tensor<2x3xf32> to tensor<2x2x3xf32>", "tensor<2x2x3xf32>"),
              ElementsAre(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(run("kiln.reduce <sum> %x axes [0] : tensor<2x3xf32> to tensor<3xf32>", "tensor<3xf32>"),
              ElementsAre(5, 7, 9));
  EXPECT_THAT(run("kiln.reduce <max> %x axes [0, 1] : tensor<2x3xf32> to tensor<f32>", "tensor<f32>"),
              ElementsAre(6));
  EXPECT_THAT(run("kiln.reduce <prod> %x axes [1] : tensor<2x3xf32> to tensor<2xf32>", "tensor<2xf32>"),
              ElementsAre(6, 120));
}

TEST(Evaluator, GatherClampsAndCountsFromTheEnd) {
  auto result =
      evaluateText("(%x: tensor<3x2xf32>, %i: tensor<4xi64>) -> tensor<4x2xf32>",
                   "%0 = kiln.gather %x[%i] axis 0 : (tensor<3x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>\n"
                   "return %0 : tensor<4x2xf32>",
                   {floats({3, 2}, {0, 1, 2, 3, 4, 5}),
                    HostTensor::of(DType::kI64, {4}, std::vector<std::int64_t>{2, -3, 99, -99})});
  EXPECT_THAT(values<float>(result), ElementsAre(4, 5, 0, 1, 4, 5, 0, 1));
}

// 1e8 + 1 - 1e8 is lost in f32 and kept here: sums are f64.
TEST(Evaluator, SumsAreWide) {
  auto result = evaluateText(
      "(%x: tensor<3xf32>) -> tensor<f32>",
      "%0 = kiln.reduce <sum> %x axes [0] : tensor<3xf32> to tensor<f32>\nreturn %0 : tensor<f32>",
      {floats({3}, {1e8f, 1, -1e8f})});
  EXPECT_THAT(values<float>(result), ElementsAre(1));
}

TEST(Evaluator, MatmulWithBatches) {
  auto result =
      evaluateText("(%x: tensor<2x1x2xf32>, %y: tensor<2x2x1xf32>) -> tensor<2x1x1xf32>",
                   "%0 = kiln.matmul %x, %y : (tensor<2x1x2xf32>, tensor<2x2x1xf32>) -> tensor<2x1x1xf32>\n"
                   "return %0 : tensor<2x1x1xf32>",
                   {floats({2, 1, 2}, {1, 2, 3, 4}), floats({2, 2, 1}, {5, 6, 7, 8})});
  EXPECT_THAT(values<float>(result), ElementsAre(17, 53));
}

TEST(Evaluator, DilatedConvolution) {
  auto result = evaluateText(
      "(%x: tensor<1x1x1x5xf32>, %w: tensor<1x1x1x2xf32>) -> tensor<1x1x1x5xf32>",
      "%0 = kiln.conv %x, %w strides [1, 1] pads [0, 1, 0, 1] dilations [1, 2] group 1 : "
      "(tensor<1x1x1x5xf32>, tensor<1x1x1x2xf32>) -> tensor<1x1x1x5xf32>\nreturn %0 : tensor<1x1x1x5xf32>",
      {floats({1, 1, 1, 5}, {1, 2, 3, 4, 5}), floats({1, 1, 1, 2}, {10, 1})});
  EXPECT_THAT(values<float>(result), ElementsAre(2, 13, 24, 35, 40));
}

TEST(Evaluator, SoftmaxOfLargeNumbers) {
  auto result = evaluateText("(%x: tensor<2x2xf32>) -> tensor<2x2xf32>",
                             "%0 = kiln.softmax %x axis 0 : tensor<2x2xf32>\nreturn %0 : tensor<2x2xf32>",
                             {floats({2, 2}, {1000, -1000, 1000, -1000})});
  EXPECT_THAT(values<float>(result), ElementsAre(0.5f, 0.5f, 0.5f, 0.5f));
}

TEST(Evaluator, FusedBodiesAndWeights) {
  ir::WeightTable weights;
  weights.addOwned("w", DType::kF32, {2}, {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40});
  std::string body =
      "%w = kiln.weight 0 : tensor<2xf32>\n"
      "%0 = kiln.fused %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {\n^bb0(%a: tensor<2xf32>, "
      "%b: tensor<2xf32>):\n"
      "%1 = kiln.binary <mul> %a, %b : tensor<2xf32>\nkiln.yield %1 : tensor<2xf32>\n}\nreturn %0 : "
      "tensor<2xf32>";
  HostTensor x = floats({2}, {3, 4});
  EXPECT_THAT(values<float>(evaluateText("(%x: tensor<2xf32>) -> tensor<2xf32>", body, {x}, weights)),
              ElementsAre(3, 8));
  auto missing = evaluateText("(%x: tensor<2xf32>) -> tensor<2xf32>", body, {x});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kInvalidArgument);
}

TEST(Evaluator, InputsAreChecked) {
  std::string body = "return %x : tensor<2xf32>",
              signature = "(%x: tensor<2xf32> {kiln.name = \"image\"}) -> tensor<2xf32>";
  auto wrong = evaluateText(signature, body, {floats({3}, {1, 2, 3})});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "input 'image': expected f32[2], given f32[3]");
  auto none = evaluateText(signature, body, {});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("1 inputs; 0 were given"));
  EXPECT_THAT(values<float>(evaluateText(signature, body, {floats({2}, {1, 2})})), ElementsAre(1, 2));
}

TEST(Evaluator, AbsurdSizesAreRefused) {
  auto result = evaluateText("() -> tensor<1099511627776xf32>",
                             "%0 = kiln.constant dense<1.0> : tensor<f32>\n"
                             "%1 = kiln.broadcast %0 : tensor<f32> to tensor<1099511627776xf32>\n"
                             "return %1 : tensor<1099511627776xf32>",
                             {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kResourceExhausted);
}

TEST(Evaluator, WhatIsAliveTogetherIsBounded) {
  // 8 GiB alone would do; the four bytes beside them are too much.
  auto result = evaluateText("() -> tensor<2147483648xf32>",
                             "%0 = kiln.constant dense<1.0> : tensor<f32>\n"
                             "%1 = kiln.broadcast %0 : tensor<f32> to tensor<2147483648xf32>\n"
                             "return %1 : tensor<2147483648xf32>",
                             {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kResourceExhausted);
  EXPECT_THAT(result.error().message, HasSubstr("8589934596 bytes of tensors at once"));
}

}  // namespace
}  // namespace kiln::reference
