// Matrices of few bits per element: their products read the codes, and no run makes the matrix.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

using ::testing::HasSubstr;

struct Packed {
  int bits, rows, blocks, bytes, columns;
  std::string codes = "ui8", zeros;  // an element type, "splat", or "" for none
};

std::string textOf(const Packed& p) {
  const int depth = p.blocks * p.bytes * (8 / p.bits);
  const std::string codes = fmt::format("tensor<{}x{}x{}x{}>", p.blocks, p.bytes, p.columns, p.codes),
                    scales = fmt::format("tensor<{}x{}xf32>", p.blocks, p.columns),
                    matrix = fmt::format("tensor<{}x{}xf32>", depth, p.columns),
                    x = fmt::format("tensor<{}x{}xf32>", p.rows, depth),
                    y = fmt::format("tensor<{}x{}xf32>", p.rows, p.columns);
  const std::string zeros =
      fmt::format("tensor<{}x{}x{}>", p.blocks, p.columns, p.zeros == "splat" ? p.codes : p.zeros);
  std::string text = fmt::format("func.func @main(%x: {0}, %r: {1}) -> {1} {{\n", x, y);
  text += fmt::format("  %c = kiln.weight 0 : {}\n  %s = kiln.weight 1 : {}\n", codes, scales);
  if (p.zeros == "splat")
    text += fmt::format("  %z = kiln.constant dense<{}> : {}\n", 1 << (p.bits - 2), zeros);
  else if (!p.zeros.empty())
    text += fmt::format("  %z = kiln.weight 2 : {}\n", zeros);
  text += fmt::format("  %w = kiln.dequantise %c scales %s {}bits {} : ({}, {}{}) -> {}\n",
                      p.zeros.empty() ? "" : "zeros %z ", p.bits, codes, scales,
                      p.zeros.empty() ? "" : ", " + zeros, matrix);
  return text + fmt::format(R"(  %0 = kiln.matmul %x, %w : ({}, {}) -> {}
  %1 = kiln.binary <add> %0, %r : {}
  return %1 : {}
}})",
                            x, matrix, y, y, y);
}

CheckOptions options(const Packed& p) {
  CheckOptions made;
  made.stage = "planned";
  made.rewrite = true;
  // Codes of up to 255 times scales, summed up.
  made.absolute = 1e-6 * 255 * p.blocks * p.bytes * (8 / p.bits);
  return made;
}

class PackedProduct : public ::testing::TestWithParam<Packed> {};

// Every width and sign, with and without zero points of each kind, one row, few and many; columns that fill
// registers and panels, and some that do not; one block for all steps.
INSTANTIATE_TEST_SUITE_P(
    Shapes, PackedProduct,
    ::testing::Values(Packed{4, 1, 8, 16, 256}, Packed{4, 1, 8, 16, 256, "ui8", "splat"},
                      Packed{4, 1, 6, 16, 320, "ui8", "ui8"}, Packed{4, 3, 8, 8, 144, "ui8", "f32"},
                      Packed{4, 40, 4, 64, 256, "ui8", "splat"}, Packed{4, 7, 4, 16, 37, "ui8", "ui8"},
                      Packed{8, 1, 4, 32, 256, "ui8", "ui8"}, Packed{8, 1, 4, 32, 512, "i8"},
                      Packed{8, 33, 4, 16, 96, "i8", "i8"}, Packed{8, 1, 1, 96, 256, "i8", "splat"},
                      Packed{8, 5, 1, 96, 256, "ui8", "f32"}, Packed{2, 1, 4, 16, 256, "ui8", "splat"},
                      Packed{2, 9, 4, 16, 128, "ui8", "ui8"}),
    [](const auto& info) {
      const Packed& p = info.param;
      return fmt::format("Of{}bits{}rows{}blocksOf{}bytes{}columns{}zeros{}", p.bits, p.rows, p.blocks,
                         p.bytes, p.columns, p.codes, p.zeros.empty() ? "none" : p.zeros);
    });

TEST_P(PackedProduct, GivesTheReferencesResultsAndMakesNoMatrix) {
  const Packed& p = GetParam();
  const std::string text = textOf(p);
  const auto checked = checkText(text, options(p));
  ASSERT_TRUE(checked) << checked.error().message << "\n" << text;
  const int depth = p.blocks * p.bytes * (8 / p.bits);
  EXPECT_LT(checked->arenaBytes + checked->scratchBytes, std::uint64_t(depth) * p.columns * 4) << text;
  // The codes are an argument of the program, in panels where those are nearly full.
  EXPECT_THAT(checked->ir, HasSubstr(p.columns == 37 ? "kiln.source = 0" : "kiln.panels")) << text;
}

TEST(PackedMatrix, IsMadeForWhatMultipliesNothing) {
  const auto checked = checkText(R"(
func.func @main(%x: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %c = kiln.weight 0 : tensor<4x8x96xui8>
  %s = kiln.weight 1 : tensor<4x96xf32>
  %z = kiln.weight 2 : tensor<4x96xui8>
  %w = kiln.dequantise %c scales %s zeros %z bits 4 : (tensor<4x8x96xui8>, tensor<4x96xf32>, tensor<4x96xui8>) -> tensor<64x96xf32>
  %y = kiln.binary <add> %x, %w : tensor<64x96xf32>
  return %y : tensor<64x96xf32>
})");
  ASSERT_TRUE(checked) << checked.error().message;
}

// Weights of 16 bits are widened in the product that reads them.
class NarrowWeight : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Types, NarrowWeight, ::testing::Values("bf16", "f16"));

TEST_P(NarrowWeight, IsWidenedInTheProduct) {
  for (const int rows : {1, 3, 50})
    for (const bool turned : {false, true}) {
      const std::string given = turned ? "256x300" : "300x256";
      std::string text = fmt::format(R"(
func.func @main(%x: tensor<{0}x300xf32>) -> tensor<{0}x256xf32> {{
  %n = kiln.weight 0 : tensor<{1}x{2}>
  %w = kiln.cast %n : tensor<{1}x{2}> to tensor<{1}xf32>
)",
                                     rows, given, GetParam());
      if (turned) text += "  %t = kiln.transpose %w [1, 0] : tensor<256x300xf32> to tensor<300x256xf32>\n";
      text += fmt::format(
          R"(  %y = kiln.matmul %x, {1} : (tensor<{0}x300xf32>, tensor<300x256xf32>) -> tensor<{0}x256xf32>
  return %y : tensor<{0}x256xf32>
}})",
          rows, turned ? "%t" : "%w");
      CheckOptions made;
      made.stage = "planned";
      made.rewrite = true;
      made.absolute = 1e-4;
      const auto checked = checkText(text, made);
      ASSERT_TRUE(checked) << checked.error().message << "\n" << text;
      EXPECT_LT(checked->arenaBytes + checked->scratchBytes, 300u * 256 * 4) << text;
      EXPECT_THAT(checked->ir, HasSubstr("xi16> {kiln.panels")) << text;
    }
}

}  // namespace
}  // namespace kiln::testing
