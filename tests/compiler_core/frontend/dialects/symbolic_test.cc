// Dimensions that a program leaves open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/frontend/dialects/run_program.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;

frontend::ImportOptions batches(std::int64_t min, std::int64_t max) {
  frontend::ImportOptions options;
  options.ranges["arg0.0"] = {min, max};
  return options;
}

// A convolution, an average and a reshape whose batch is open.
const char* const kClassifier = R"(
func.func @main(%x: tensor<?x4x4x2xf32>) -> tensor<?x8xf32> {
  %w = "tosa.const"() <{values = dense<0.5> : tensor<2x1x1x2xf32>}> : () -> tensor<2x1x1x2xf32>
  %b = "tosa.const"() <{values = dense<1.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.conv2d %x, %w, %b, %z, %z {acc_type = f32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<?x4x4x2xf32>, tensor<2x1x1x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x4x4x2xf32>
  %1 = tosa.avg_pool2d %0, %z, %z {acc_type = f32, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x4x4x2xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x2x2x2xf32>
  %s = tosa.const_shape {values = dense<[-1, 8]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %2 = tosa.reshape %1, %s : (tensor<?x2x2x2xf32>, !tosa.shape<2>) -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
})";

TEST(DialectsSymbolic, AnOpenBatchStaysASymbol) {
  const auto made = importText(kClassifier, batches(1, 8));
  ASSERT_TRUE(made) << made.error().message;
  const frontend::Captured& captured = (*made)->captured;
  EXPECT_THAT(captured.inputs[0].dimNames, ElementsAre("arg0.0", "", "", ""));
  EXPECT_THAT(captured.outputs[0].dimNames, ElementsAre("arg0.0", ""));
  ASSERT_EQ(captured.symbols.size(), 1u);
  EXPECT_EQ(captured.symbols[0].range, (ir::Range{1, 8}));
}

TEST(DialectsSymbolic, AnOpenBatchThatAProfileFixesIsANumber) {
  frontend::ImportOptions options;
  options.dims["arg0.0"] = 2;
  const auto results = runText(kClassifier, {floats({2, 4, 4, 2}, std::vector<float>(64, 3))}, options);
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(results->front().shape, (std::vector<std::int64_t>{2, 8}));
  EXPECT_EQ(elementsOf<float>(results), std::vector<float>(16, 4));
}

TEST(DialectsSymbolic, AnUnboundDimensionIsNamedWithTheFlagThatBindsIt) {
  const auto made = importText(kClassifier);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kUnimplemented);
  EXPECT_THAT(made.error().message, HasSubstr("arg0.0"));
  EXPECT_THAT(made.error().message, HasSubstr("--profile"));
}

TEST(DialectsSymbolic, ExtentsThatAProgramAsksForAreFollowed) {
  const std::string text = mainOf(
      "%x: tensor<?x3xf32>, %w: tensor<3x4xf32>", "tensor<?x4xf32>",
      "%i = arith.constant 0 : index\n%n = tensor.dim %x, %i : tensor<?x3xf32>\n"
      "%e = tensor.empty(%n) : tensor<?x4xf32>\n%z = arith.constant 0.0 : f32\n"
      "%o = linalg.fill ins(%z : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>\n"
      "%0 = linalg.matmul ins(%x, %w : tensor<?x3xf32>, tensor<3x4xf32>) outs(%o : tensor<?x4xf32>) -> "
      "tensor<?x4xf32>\nreturn %0 : tensor<?x4xf32>");
  const auto made = importText(text, batches(1, 64));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT((*made)->captured.outputs[0].dimNames, ElementsAre("arg0.0", ""));
}

TEST(DialectsSymbolic, WhatRangesDoNotDecideIsRefused) {
  const std::string text = mainOf(
      "%x: tensor<?xf32>", "tensor<4xf32>",
      "%0 = tensor.extract_slice %x[2] [4] [1] : tensor<?xf32> to tensor<4xf32>\nreturn %0 : tensor<4xf32>");
  EXPECT_TRUE(importText(text, batches(6, 9)));
  const auto made = importText(text, batches(4, 9));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("leaves dimension 0"));
}

}  // namespace
}  // namespace kiln
