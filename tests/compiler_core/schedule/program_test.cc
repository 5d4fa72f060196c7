// Contractions, convolutions, pooling: every shape class that takes another path through the vectoriser.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

void check(const std::string& text, const CheckOptions& options = {}) {
  auto checked = checkText(text, options);
  EXPECT_TRUE(checked) << checked.error().message << "\n" << text;
}

struct MatmulShape {
  int m, n, k;
};
class Matmul : public ::testing::TestWithParam<MatmulShape> {};

std::string matmulText(int m, int n, int k) {
  return fmt::format(R"(
func.func @main(%a: tensor<{0}x{2}xf32>) -> tensor<{0}x{1}xf32> {{
  %w = kiln.weight 0 : tensor<{2}x{1}xf32>
  %c = kiln.weight 1 : tensor<{1}xf32>
  %r = kiln.fused %a, %w, %c : (tensor<{0}x{2}xf32>, tensor<{2}x{1}xf32>, tensor<{1}xf32>) -> tensor<{0}x{1}xf32> {{
  ^bb0(%x: tensor<{0}x{2}xf32>, %y: tensor<{2}x{1}xf32>, %z: tensor<{1}xf32>):
    %0 = kiln.matmul %x, %y : (tensor<{0}x{2}xf32>, tensor<{2}x{1}xf32>) -> tensor<{0}x{1}xf32>
    %1 = kiln.broadcast %z : tensor<{1}xf32> to tensor<{0}x{1}xf32>
    %2 = kiln.binary <add> %0, %1 : tensor<{0}x{1}xf32>
    %3 = kiln.unary <relu> %2 : tensor<{0}x{1}xf32>
    kiln.yield %3 : tensor<{0}x{1}xf32>
  }}
  return %r : tensor<{0}x{1}xf32>
}})",
                     m, n, k);
}

TEST_P(Matmul, WithBiasAndRelu) {
  const auto [m, n, k] = GetParam();
  check(matmulText(m, n, k));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Matmul,
                         ::testing::Values(MatmulShape{64, 128, 64}, MatmulShape{1, 10, 256},
                                           MatmulShape{13, 37, 5}, MatmulShape{200, 300, 700},
                                           MatmulShape{7, 1, 3}, MatmulShape{96, 512, 33},
                                           MatmulShape{1, 1, 1}, MatmulShape{251, 509, 17}),
                         [](const auto& info) {
                           return fmt::format("{}x{}x{}", info.param.m, info.param.n, info.param.k);
                         });

TEST(Contraction, TheEpilogueStaysInTheTileOfTheMatmul) {
  auto checked = checkText(matmulText(64, 128, 64));
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->arenaBytes, 0u);
  EXPECT_EQ(checked->scratchBytes, 0u);
}

TEST(Contraction, LongReductionsRunOverPanelsInScratch) {
  CheckOptions options;
  options.absolute = 1e-4;  // sums of 700 products
  for (int n : {512, 520, 500}) {
    auto checked = checkText(fmt::format(R"(
func.func @main(%a: tensor<96x700xf32>, %b: tensor<700x{0}xf32>) -> tensor<96x{0}xf32> {{
  %0 = kiln.matmul %a, %b : (tensor<96x700xf32>, tensor<700x{0}xf32>) -> tensor<96x{0}xf32>
  return %0 : tensor<96x{0}xf32>
}})",
                                         n),
                             options);
    ASSERT_TRUE(checked) << checked.error().message;
    EXPECT_GT(checked->scratchBytes, 0u);
    EXPECT_EQ(checked->arenaBytes, 0u);
  }
}

TEST(Memory, AChainOfMatmulsReusesTheArena) {
  std::string text =
      "func.func @main(%v0: tensor<64x64xf32>) -> tensor<64x64xf32> {\n  %w = kiln.weight 0 : "
      "tensor<64x64xf32>\n";
  for (int i = 0; i < 8; ++i)
    text += fmt::format(
        "  %v{1} = kiln.matmul %v{0}, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>\n", i,
        i + 1);
  CheckOptions options;
  options.relative = 1e-3;
  options.absolute = 1e-2;  // eight products in a row
  auto checked = checkText(text + "  return %v8 : tensor<64x64xf32>\n}", options);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->arenaBytes, 2u * 64 * 64 * 4);
}

TEST(Contraction, WithoutContractionProductsAreRounded) {
  CheckOptions off;
  off.contraction = false;
  off.stage = "vectors";
  auto checked = checkText(matmulText(8, 16, 4), off);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->ir.find("math.fma"), std::string::npos);
  EXPECT_NE(checked->ir.find("arith.mulf"), std::string::npos);
}

TEST(Contraction, BatchesIntegersAndDoubles) {
  for (const char* type : {"f32", "f64", "i32", "i64"})
    check(fmt::format(R"(
func.func @main(%a: tensor<3x2x9x14x{0}>, %b: tensor<3x2x14x21x{0}>) -> tensor<3x2x9x21x{0}> {{
  %0 = kiln.matmul %a, %b : (tensor<3x2x9x14x{0}>, tensor<3x2x14x21x{0}>) -> tensor<3x2x9x21x{0}>
  return %0 : tensor<3x2x9x21x{0}>
}})",
                      type));
}

TEST(Contraction, ATransposedWeightIsLaidOutOnce) {
  check(R"(
func.func @main(%a: tensor<5x32xf32>) -> tensor<5x20xf32> {
  %w = kiln.weight 0 : tensor<20x32xf32>
  %t = kiln.transpose %w [1, 0] : tensor<20x32xf32> to tensor<32x20xf32>
  %0 = kiln.matmul %a, %t : (tensor<5x32xf32>, tensor<32x20xf32>) -> tensor<5x20xf32>
  return %0 : tensor<5x20xf32>
})");
}

TEST(Contraction, OfATransposedActivation) {
  check(R"(
func.func @main(%a: tensor<32x5xf32>, %b: tensor<20x32xf32>) -> tensor<5x20xf32> {
  %t = kiln.transpose %a [1, 0] : tensor<32x5xf32> to tensor<5x32xf32>
  %u = kiln.transpose %b [1, 0] : tensor<20x32xf32> to tensor<32x20xf32>
  %0 = kiln.matmul %t, %u : (tensor<5x32xf32>, tensor<32x20xf32>) -> tensor<5x20xf32>
  return %0 : tensor<5x20xf32>
})");
}

struct ConvCase {
  const char* name;
  int c, h, w, o, kh, kw;
  const char *strides, *pads, *dilations;
  int group, oh, ow;
};
class Convolution : public ::testing::TestWithParam<ConvCase> {};

TEST_P(Convolution, MatchesTheReference) {
  const ConvCase& p = GetParam();
  const std::string in = fmt::format("tensor<2x{}x{}x{}xf32>", p.c, p.h, p.w);
  const std::string filter = fmt::format("tensor<{}x{}x{}x{}xf32>", p.o, p.c / p.group, p.kh, p.kw);
  const std::string out = fmt::format("tensor<2x{}x{}x{}xf32>", p.o, p.oh, p.ow);
  const std::string attributes =
      fmt::format("strides {} pads {} dilations {} group {}", p.strides, p.pads, p.dilations, p.group);
  check(fmt::format(R"(
func.func @main(%x: {0}) -> ({2}, {2}) {{
  %w = kiln.weight 0 : {1}
  %b = kiln.weight 1 : tensor<{3}xf32>
  %0 = kiln.conv %x, %w bias %b {4} : ({0}, {1}, tensor<{3}xf32>) -> {2}
  %1 = kiln.unary <tanh> %0 : {2}
  %2 = kiln.conv %x, %w {4} : ({0}, {1}) -> {2}
  return %1, %2 : {2}, {2}
}})",
                    in, filter, out, p.o, attributes));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Convolution,
    ::testing::Values(ConvCase{"Plain", 3, 12, 20, 8, 3, 3, "[1, 1]", "[0, 0, 0, 0]", "[1, 1]", 1, 10, 18},
                      ConvCase{"Padded", 4, 8, 8, 16, 5, 5, "[1, 1]", "[2, 2, 2, 2]", "[1, 1]", 1, 8, 8},
                      ConvCase{"Strided", 3, 11, 13, 7, 3, 3, "[2, 2]", "[1, 1, 1, 1]", "[1, 1]", 1, 6, 7},
                      ConvCase{"Dilated", 2, 12, 12, 5, 3, 2, "[1, 1]", "[0, 1, 2, 0]", "[2, 3]", 1, 10, 10},
                      ConvCase{"Grouped", 6, 9, 9, 4, 3, 3, "[1, 1]", "[1, 1, 1, 1]", "[1, 1]", 2, 9, 9},
                      ConvCase{"Depthwise", 8, 9, 9, 8, 3, 3, "[1, 1]", "[1, 1, 1, 1]", "[1, 1]", 8, 9, 9},
                      ConvCase{"Pointwise", 16, 7, 7, 24, 1, 1, "[1, 1]", "[0, 0, 0, 0]", "[1, 1]", 1, 7, 7},
                      ConvCase{"OnePixel", 3, 5, 5, 4, 5, 5, "[1, 1]", "[0, 0, 0, 0]", "[1, 1]", 1, 1, 1}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Pooling, MaxAndAverageWithPadding) {
  for (const char* kind : {"max", "average"})
    for (const char* type : {"f32", "f64"})
      for (const char* counted : {"", "count_padding"})
        check(fmt::format(R"(
func.func @main(%x: tensor<2x3x9x9x{1}>) -> (tensor<2x3x5x5x{1}>, tensor<2x3x7x7x{1}>) {{
  %0 = kiln.pool <{0}> %x kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] {2} : tensor<2x3x9x9x{1}> to tensor<2x3x5x5x{1}>
  %1 = kiln.pool <{0}> %x kernel [3, 3] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] {2} : tensor<2x3x9x9x{1}> to tensor<2x3x7x7x{1}>
  return %0, %1 : tensor<2x3x5x5x{1}>, tensor<2x3x7x7x{1}>
}})",
                          kind, type, counted));
}

}  // namespace
}  // namespace kiln::testing
