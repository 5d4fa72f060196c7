// Products of bytes and of bf16 by the dot product instructions of a processor.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/runtime/program/cpu_features.h"
#include "manifest/spec/target.h"
#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

using reference::HostTensor;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kWide = "cpu:x86-64-v4+avx512vnni+avx512bf16";

class Dot : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!runtime::checkHostFeatures(parseTarget(kWide)->features, kWide))
      GTEST_SKIP() << "this processor lacks AVX-512 with VNNI and bf16";
  }

  // Right, and by the instruction that the text is about.
  static void check(const std::string& text, CheckOptions options, const std::string& instruction) {
    options.target = kWide;
    options.rewrite = true;
    options.stage = "vectors";
    const auto checked = checkText(text, options);
    ASSERT_TRUE(checked) << checked.error().message << "\n" << text;
    if (instruction.empty())
      EXPECT_THAT(checked->ir, Not(HasSubstr("call_intrinsic"))) << text;
    else
      EXPECT_THAT(checked->ir, HasSubstr(instruction)) << text;
  }
  static constexpr const char* kBytes = "vpdpbusd.512";
};

std::string numbered(const char* name, const std::string& shape, const std::string& type, bool isWeight,
                     unsigned number) {
  return isWeight ? fmt::format("  %{} = kiln.weight {} : tensor<{}x{}>\n", name, number, shape, type) : "";
}

// (a - x) . (b - y); a zero point of -1000 stands for none.
struct Product {
  int m, k, n;
  std::string left, right;
  int leftZero = -1000, rightZero = -1000;
  bool isWeight = false;
};

std::string centred(const char* name, const std::string& shape, const std::string& type, int zero) {
  std::string text =
      fmt::format("  %{0}w = kiln.cast %{0} : tensor<{1}x{2}> to tensor<{1}xi32>\n", name, shape, type);
  if (zero == -1000)
    return text +
           fmt::format("  %{0}d = kiln.reshape %{0}w : tensor<{1}xi32> to tensor<{1}xi32>\n", name, shape);
  return text + fmt::format(R"(  %{0}c = kiln.constant dense<{2}> : tensor<i32>
  %{0}z = kiln.broadcast %{0}c : tensor<i32> to tensor<{1}xi32>
  %{0}d = kiln.binary <sub> %{0}w, %{0}z : tensor<{1}xi32>
)",
                            name, shape, zero);
}

std::string textOf(const Product& p) {
  const std::string a = fmt::format("{}x{}", p.m, p.k), b = fmt::format("{}x{}", p.k, p.n),
                    y = fmt::format("{}x{}", p.m, p.n);
  std::string text = fmt::format("func.func @main(%a: tensor<{}x{}>", a, p.left);
  if (!p.isWeight) text += fmt::format(", %b: tensor<{}x{}>", b, p.right);
  text += fmt::format(") -> tensor<{}xi32> {{\n", y) + numbered("b", b, p.right, p.isWeight, 0) +
          centred("a", a, p.left, p.leftZero) + centred("b", b, p.right, p.rightZero);
  return text + fmt::format(
                    "  %y = kiln.matmul %ad, %bd : (tensor<{}xi32>, tensor<{}xi32>) -> tensor<{}xi32>\n"
                    "  return %y : tensor<{}xi32>\n}}",
                    a, b, y, y);
}

TEST_F(Dot, EverySignShapeAndZeroPoint) {
  for (const bool isWeight : {false, true})
    for (const char* left : {"ui8", "i8"})
      for (const char* right : {"ui8", "i8"}) {
        check(textOf({7, 70, 33, left, right, -1000, -1000, isWeight}), {}, kBytes);
        check(textOf({130, 513, 300, left, right, 3, -1000, isWeight}), {}, kBytes);
        check(textOf({5, 1030, 1, left, right, 128, 128, isWeight}), {}, kBytes);
        check(textOf({1, 300, 17, left, right, -1000, -7, isWeight}), {}, kBytes);
      }
}

TEST_F(Dot, LargestFactors) {
  // All products at the ends of their range, and a sum that saturating instructions would get wrong.
  const Product product{3, 200, 40, "ui8", "i8"};
  for (const int right : {-128, 127}) {
    CheckOptions options;
    options.inputs = {
        HostTensor::of(DType::kU8, {3, 200}, std::vector<std::uint8_t>(600, 255)),
        HostTensor::of(DType::kI8, {200, 40}, std::vector<std::int8_t>(8000, std::int8_t(right)))};
    check(textOf(product), options, kBytes);
  }
}

TEST_F(Dot, SumsWrap) {
  const Product product{1, 70000, 16, "ui8", "i8", 255, -128};
  CheckOptions options;
  options.inputs = {HostTensor::of(DType::kU8, {1, 70000}, std::vector<std::uint8_t>(70000, 0)),
                    HostTensor::of(DType::kI8, {70000, 16}, std::vector<std::int8_t>(1120000, 127))};
  check(textOf(product), options, kBytes);
}

TEST_F(Dot, ZeroPointsOfRowsAndColumns) {
  check(R"(
func.func @main(%a: tensor<9x20xui8>, %x: tensor<9x1xui8>, %b: tensor<20x34xi8>, %y: tensor<34xi8>) -> tensor<9x34xi32> {
  %0 = kiln.cast %a : tensor<9x20xui8> to tensor<9x20xi32>
  %1 = kiln.cast %x : tensor<9x1xui8> to tensor<9x1xi32>
  %2 = kiln.broadcast %1 : tensor<9x1xi32> to tensor<9x20xi32>
  %3 = kiln.binary <sub> %0, %2 : tensor<9x20xi32>
  %4 = kiln.cast %b : tensor<20x34xi8> to tensor<20x34xi32>
  %5 = kiln.cast %y : tensor<34xi8> to tensor<34xi32>
  %6 = kiln.broadcast %5 : tensor<34xi32> to tensor<20x34xi32>
  %7 = kiln.binary <sub> %4, %6 : tensor<20x34xi32>
  %8 = kiln.matmul %3, %7 : (tensor<9x20xi32>, tensor<20x34xi32>) -> tensor<9x34xi32>
  return %8 : tensor<9x34xi32>
})",
        {}, kBytes);
}

TEST_F(Dot, BatchesAndTransposedWeights) {
  check(R"(
func.func @main(%a: tensor<2x5x64xi8>, %b: tensor<2x64x24xi8>) -> tensor<2x5x24xi32> {
  %0 = kiln.cast %a : tensor<2x5x64xi8> to tensor<2x5x64xi32>
  %1 = kiln.cast %b : tensor<2x64x24xi8> to tensor<2x64x24xi32>
  %2 = kiln.matmul %0, %1 : (tensor<2x5x64xi32>, tensor<2x64x24xi32>) -> tensor<2x5x24xi32>
  return %2 : tensor<2x5x24xi32>
})",
        {}, kBytes);
  check(R"(
func.func @main(%a: tensor<8x50xi8>) -> tensor<8x60xi32> {
  %w = kiln.weight 0 : tensor<60x50xi8>
  %0 = kiln.cast %a : tensor<8x50xi8> to tensor<8x50xi32>
  %1 = kiln.cast %w : tensor<60x50xi8> to tensor<60x50xi32>
  %2 = kiln.transpose %1 [1, 0] : tensor<60x50xi32> to tensor<50x60xi32>
  %3 = kiln.matmul %0, %2 : (tensor<8x50xi32>, tensor<50x60xi32>) -> tensor<8x60xi32>
  return %3 : tensor<8x60xi32>
})",
        {}, kBytes);
}

std::string convolution(int channels, const std::string& image, const std::string& filter, int zero,
                        int filterZero, int stride) {
  const int size = 13, out = (size + 2 - 3) / stride + 1;
  const std::string x = fmt::format("1x{}x{}x{}", channels, size, size),
                    w = fmt::format("20x{}x3x3", channels), y = fmt::format("1x20x{}x{}", out, out);
  return fmt::format("func.func @main(%a: tensor<{}x{}>, %bias: tensor<20xi32>) -> tensor<{}xi32> {{\n", x,
                     image, y) +
         numbered("b", w, filter, true, 0) + centred("a", x, image, zero) +
         centred("b", w, filter, filterZero) +
         fmt::format(
             "  %y = kiln.conv %ad, %bd bias %bias strides [{0}, {0}] pads [1, 1, 1, 1] dilations [1, 1] "
             "group "
             "1 : (tensor<{1}xi32>, tensor<{2}xi32>, tensor<20xi32>) -> tensor<{3}xi32>\n"
             "  return %y : tensor<{3}xi32>\n}}",
             stride, x, w, y);
}

TEST_F(Dot, Convolutions) {
  for (const int stride : {1, 2})
    for (const int channels : {3, 16}) {
      check(convolution(channels, "ui8", "i8", -1000, -1000, stride), {}, kBytes);
      check(convolution(channels, "ui8", "i8", 100, -1000, stride), {}, kBytes);
      check(convolution(channels, "ui8", "ui8", 255, 128, stride), {}, kBytes);
      check(convolution(channels, "i8", "i8", -1, -1000, stride), {}, kBytes);
      // A filter's zero point has no part in the sums of whole windows.
      check(convolution(channels, "ui8", "i8", 100, 5, stride), {}, "");
    }
}

// A filter of its own per channel: [channels, 1, rows, columns]. As i32 it is more than 1 KiB, so that it is
// not folded into a constant of i32.
struct Depthwise {
  int rows = 3, columns = 3, stride = 1, dilation = 1;
  std::string image = "ui8", filter = "i8";
  int zero = 100, filterZero = -1000;
  int channels = 70, width = 37;
};

std::string depthwise(const Depthwise& d) {
  const int height = 13, padRows = d.rows / 2, padColumns = d.columns / 2;
  const auto positions = [&](int extent, int pad, int kernel) {
    return (extent + 2 * pad - d.dilation * (kernel - 1) - 1) / d.stride + 1;
  };
  const std::string x = fmt::format("2x{}x{}x{}", d.channels, height, d.width),
                    w = fmt::format("{}x1x{}x{}", d.channels, d.rows, d.columns),
                    y = fmt::format("2x{}x{}x{}", d.channels, positions(height, padRows, d.rows),
                                    positions(d.width, padColumns, d.columns));
  return fmt::format("func.func @main(%a: tensor<{}x{}>, %bias: tensor<{}xi32>) -> tensor<{}xi32> {{\n", x,
                     d.image, d.channels, y) +
         numbered("b", w, d.filter, true, 0) + centred("a", x, d.image, d.zero) +
         centred("b", w, d.filter, d.filterZero) +
         fmt::format(
             "  %y = kiln.conv %ad, %bd bias %bias strides [{0}, {0}] pads [{1}, {2}, {1}, {2}] dilations "
             "[{3}, {3}] group {4} : (tensor<{5}xi32>, tensor<{6}xi32>, tensor<{4}xi32>) -> tensor<{7}xi32>\n"
             "  return %y : tensor<{7}xi32>\n}}",
             d.stride, padRows, padColumns, d.dilation, d.channels, x, w, y);
}

TEST_F(Dot, RowsOfDepthwiseWindows) {
  for (const int stride : {1, 2})
    for (const int dilation : {1, 2}) {
      check(depthwise({.stride = stride, .dilation = dilation}), {}, kBytes);
      check(depthwise({.rows = 2, .columns = 5, .stride = stride, .dilation = dilation, .width = 16}), {},
            kBytes);
      check(depthwise({.rows = 4, .columns = 1, .stride = stride, .dilation = dilation, .zero = -1000}), {},
            kBytes);
      check(depthwise({.stride = stride, .dilation = dilation, .image = "i8", .zero = -3, .width = 7}), {},
            kBytes);
      check(depthwise({.stride = stride, .dilation = dilation, .filter = "ui8", .filterZero = 128}), {},
            kBytes);
    }
  // More rows than a packed operand holds, and what a filter's zero point multiplies.
  check(depthwise({.rows = 5, .columns = 5}), {}, "");
  check(depthwise({.filterZero = 3}), {}, "");
}

// All factors at the ends of their range.
TEST_F(Dot, LargestDepthwiseFactors) {
  const std::string text = depthwise({.zero = -1000, .channels = 32, .width = 20});
  CheckOptions options;
  options.inputs = {HostTensor::of(DType::kU8, {2, 32, 13, 20}, std::vector<std::uint8_t>(16640, 255)),
                    HostTensor::of(DType::kI32, {32}, std::vector<std::int32_t>(32, -2))};
  check(text, options, kBytes);
}

TEST_F(Dot, DequantisedFactorsWhereThePrecisionSaysSo) {
  const std::string text = R"(
func.func @main(%x: tensor<6x48xui8>) -> tensor<6x40xf32> {
  %w = kiln.weight 0 : tensor<48x40xi8>
  %0 = kiln.cast %x : tensor<6x48xui8> to tensor<6x48xi32>
  %1 = kiln.constant dense<120> : tensor<6x48xi32>
  %2 = kiln.binary <sub> %0, %1 : tensor<6x48xi32>
  %3 = kiln.cast %2 : tensor<6x48xi32> to tensor<6x48xf32>
  %4 = kiln.constant dense<0.02> : tensor<6x48xf32>
  %5 = kiln.binary <mul> %3, %4 : tensor<6x48xf32>
  %6 = kiln.cast %w : tensor<48x40xi8> to tensor<48x40xf32>
  %7 = kiln.constant dense<0.01> : tensor<48x40xf32>
  %8 = kiln.binary <mul> %6, %7 : tensor<48x40xf32>
  %9 = kiln.matmul %5, %8 : (tensor<6x48xf32>, tensor<48x40xf32>) -> tensor<6x40xf32>
  return %9 : tensor<6x40xf32>
})";
  CheckOptions options;
  check(text, options, "");
  options.quantised = true;
  check(text, options, kBytes);
  // The sums are exact, so the bits are those of targets without the instruction.
  CheckOptions plain = options;
  plain.rewrite = true;
  options = plain;
  options.target = kWide;
  const auto narrow = checkText(text, plain), wide = checkText(text, options);
  ASSERT_TRUE(narrow && wide);
  EXPECT_EQ(narrow->outputs, wide->outputs);
}

// --- bf16

// Codes of numbers between 1/4 and 1, of both signs.
HostTensor codes(std::vector<std::int64_t> shape, std::uint32_t seed) {
  HostTensor tensor = HostTensor::zeros(DType::kBF16, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    seed = seed * 1664525 + 1013904223;
    tensor.data<std::uint16_t>()[i] =
        static_cast<std::uint16_t>(0x3e80 + (seed >> 16) % 0x100 + (seed >> 31 << 15));
  }
  return tensor;
}

std::string floats(int m, int k, int n) {
  return fmt::format(R"(
func.func @main(%a: tensor<{0}x{1}xbf16>, %b: tensor<{1}x{2}xbf16>) -> tensor<{0}x{2}xf32> {{
  %0 = kiln.cast %a : tensor<{0}x{1}xbf16> to tensor<{0}x{1}xf32>
  %1 = kiln.cast %b : tensor<{1}x{2}xbf16> to tensor<{1}x{2}xf32>
  %2 = kiln.matmul %0, %1 : (tensor<{0}x{1}xf32>, tensor<{1}x{2}xf32>) -> tensor<{0}x{2}xf32>
  return %2 : tensor<{0}x{2}xf32>
}})",
                     m, k, n);
}

TEST_F(Dot, ProductsOfBf16) {
  check(R"(
func.func @main(%x: tensor<20x301xbf16>) -> tensor<20x70xbf16> {
  %w = kiln.weight 0 : tensor<301x70xbf16>
  %0 = kiln.matmul %x, %w : (tensor<20x301xbf16>, tensor<301x70xbf16>) -> tensor<20x70xbf16>
  return %0 : tensor<20x70xbf16>
})",
        {.relative = 1e-2, .absolute = 1e-2}, "dpbf16ps.512");
  check(R"(
func.func @main(%x: tensor<1x5x9x9xbf16>) -> tensor<1x12x9x9xbf16> {
  %w = kiln.weight 0 : tensor<12x5x3x3xbf16>
  %0 = kiln.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x5x9x9xbf16>, tensor<12x5x3x3xbf16>) -> tensor<1x12x9x9xbf16>
  return %0 : tensor<1x12x9x9xbf16>
})",
        {.relative = 1e-2, .absolute = 1e-2}, "dpbf16ps.512");
}

// A result has the same bits alone as in whatever block of registers it is made.
TEST_F(Dot, EveryBf16ResultHasItsBits) {
  constexpr int kRows = 13, kSteps = 1500, kColumns = 67;
  CheckOptions options{.target = kWide, .absolute = 1e-3};
  const HostTensor a = codes({kRows, kSteps}, 1), b = codes({kSteps, kColumns}, 2);
  options.inputs = {a, b};
  const auto all = checkText(floats(kRows, kSteps, kColumns), options);
  ASSERT_TRUE(all) << all.error().message;
  for (const int row : {0, 5, 12})
    for (const int column : {0, 15, 16, 63, 66}) {
      HostTensor left = HostTensor::zeros(DType::kBF16, {1, kSteps}),
                 right = HostTensor::zeros(DType::kBF16, {kSteps, 1});
      for (int k = 0; k < kSteps; ++k) {
        left.data<std::uint16_t>()[k] = a.data<std::uint16_t>()[row * kSteps + k];
        right.data<std::uint16_t>()[k] = b.data<std::uint16_t>()[k * kColumns + column];
      }
      options.inputs = {left, right};
      const auto one = checkText(floats(1, kSteps, 1), options);
      ASSERT_TRUE(one) << one.error().message;
      EXPECT_EQ(one->outputs[0].data<std::uint32_t>()[0],
                all->outputs[0].data<std::uint32_t>()[row * kColumns + column])
          << row << ", " << column;
    }
}

}  // namespace
}  // namespace kiln::testing
