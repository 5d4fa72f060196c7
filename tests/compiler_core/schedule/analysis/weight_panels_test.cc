// Weights that lie in panels in the artifact: every way in which a product can read one, and what else may
// read the same weight.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

int countIn(const Checked& checked, const char* name) {
  int count = 0;
  for (std::size_t at = checked.ir.find(name); at != std::string::npos; at = checked.ir.find(name, at + 1))
    ++count;
  return count;
}

// So many of the program's weights lie in panels, of so many in all.
void expectPanels(const std::string& text, int panels, int weights) {
  CheckOptions options;
  options.stage = "planned";
  options.absolute = 1e-4;  // sums of up to 1300 products
  const auto checked = checkText(text, options);
  ASSERT_TRUE(checked) << checked.error().message << "\n" << text;
  EXPECT_EQ(countIn(*checked, "kiln.panels"), panels) << text;
  EXPECT_EQ(countIn(*checked, "kiln.weight"), weights) << text;
  EXPECT_EQ(checked->scratchBytes, 0u) << text;
}

struct Shape {
  int rows, steps, columns;
};
class WeightPanels : public ::testing::TestWithParam<Shape> {};

// Whole panels, some columns behind the last whole one, one column behind it, one row, few rows, more tiles
// than one, more steps than one block, doubles.
INSTANTIATE_TEST_SUITE_P(Shapes, WeightPanels,
                         ::testing::Values(Shape{64, 70, 128}, Shape{50, 33, 120}, Shape{13, 40, 145},
                                           Shape{1, 300, 512}, Shape{3, 64, 176}, Shape{200, 90, 768},
                                           Shape{96, 1300, 64}, Shape{7, 1025, 200}),
                         [](const auto& info) {
                           return fmt::format("{}x{}x{}", info.param.rows, info.param.steps,
                                              info.param.columns);
                         });

TEST_P(WeightPanels, GiveTheReferencesResults) {
  const auto [rows, steps, columns] = GetParam();
  for (const char* type : {"f32", "f64"})
    expectPanels(fmt::format(R"(
func.func @main(%a: tensor<{0}x{1}x{3}>) -> tensor<{0}x{2}x{3}> {{
  %w = kiln.weight 0 : tensor<{1}x{2}x{3}>
  %c = kiln.weight 1 : tensor<{2}x{3}>
  %r = kiln.fused %a, %w, %c : (tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}>, tensor<{2}x{3}>) -> tensor<{0}x{2}x{3}> {{
  ^bb0(%x: tensor<{0}x{1}x{3}>, %y: tensor<{1}x{2}x{3}>, %z: tensor<{2}x{3}>):
    %0 = kiln.matmul %x, %y : (tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}>) -> tensor<{0}x{2}x{3}>
    %1 = kiln.broadcast %z : tensor<{2}x{3}> to tensor<{0}x{2}x{3}>
    %2 = kiln.binary <add> %0, %1 : tensor<{0}x{2}x{3}>
    kiln.yield %2 : tensor<{0}x{2}x{3}>
  }}
  return %r : tensor<{0}x{2}x{3}>
}})",
                             rows, steps, columns, type),
                 1, 2);
}

TEST(SharedWeight, IsThereOnceForProductsOfManyAndOfOneRow) {
  expectPanels(R"(
func.func @main(%a: tensor<40x64xf32>, %b: tensor<1x64xf32>) -> (tensor<40x96xf32>, tensor<1x96xf32>) {
  %w = kiln.weight 0 : tensor<64x96xf32>
  %0 = kiln.matmul %a, %w : (tensor<40x64xf32>, tensor<64x96xf32>) -> tensor<40x96xf32>
  %1 = kiln.matmul %b, %w : (tensor<1x64xf32>, tensor<64x96xf32>) -> tensor<1x96xf32>
  return %0, %1 : tensor<40x96xf32>, tensor<1x96xf32>
})",
               1, 1);
}

TEST(SharedWeight, IsReadAsItIsByWhatIsNoProduct) {
  expectPanels(R"(
func.func @main(%a: tensor<64x64xf32>) -> (tensor<64x96xf32>, tensor<64x96xf32>) {
  %w = kiln.weight 0 : tensor<64x96xf32>
  %0 = kiln.matmul %a, %w : (tensor<64x64xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %1 = kiln.unary <tanh> %w : tensor<64x96xf32>
  return %0, %1 : tensor<64x96xf32>, tensor<64x96xf32>
})",
               1, 2);
}

// One product reads its rows, another one its columns.
TEST(SharedWeight, MayBeWantedTransposedAsWell) {
  expectPanels(R"(
func.func @main(%a: tensor<40x64xf32>, %b: tensor<40x96xf32>) -> (tensor<40x96xf32>, tensor<40x64xf32>) {
  %w = kiln.weight 0 : tensor<64x96xf32>
  %t = kiln.transpose %w [1, 0] : tensor<64x96xf32> to tensor<96x64xf32>
  %0 = kiln.matmul %a, %w : (tensor<40x64xf32>, tensor<64x96xf32>) -> tensor<40x96xf32>
  %1 = kiln.matmul %b, %t : (tensor<40x96xf32>, tensor<96x64xf32>) -> tensor<40x64xf32>
  return %0, %1 : tensor<40x96xf32>, tensor<40x64xf32>
})",
               2, 2);
}

TEST(Batches, OfOneWeightAreRowsOfOneProduct) {
  expectPanels(R"(
func.func @main(%a: tensor<3x20x64xf32>) -> tensor<3x20x96xf32> {
  %w = kiln.weight 0 : tensor<64x96xf32>
  %b = kiln.broadcast %w : tensor<64x96xf32> to tensor<3x64x96xf32>
  %0 = kiln.matmul %a, %b : (tensor<3x20x64xf32>, tensor<3x64x96xf32>) -> tensor<3x20x96xf32>
  return %0 : tensor<3x20x96xf32>
})",
               0, 1);
}

}  // namespace
}  // namespace kiln::testing
