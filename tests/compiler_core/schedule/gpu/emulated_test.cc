// Contractions and attention as the threads of a device, run by the emulated device: f32 and integers with
// the CPU target's bits, 16-bit floats within tolerance of the reference evaluator, in any shape, with shared
// memory that starts as NaN and threads in three orders.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

using reference::HostTensor;

// The same bits as on a CPU.
void checkBits(const std::string& text, CheckOptions options = {}) {
  const auto onCpu = checkText(text, options);
  ASSERT_TRUE(onCpu) << onCpu.error().message << "\n" << text;
  options.device = true;
  const auto onDevice = checkText(text, options);
  ASSERT_TRUE(onDevice) << onDevice.error().message << "\n" << text;
  EXPECT_TRUE(onDevice->outputs == onCpu->outputs) << text;
}

void checkNear(const std::string& text, double relative, double absolute, CheckOptions options = {}) {
  options.device = true;
  options.relative = relative;
  options.absolute = absolute;
  const auto onDevice = checkText(text, options);
  EXPECT_TRUE(onDevice) << onDevice.error().message << "\n" << text;
}

std::string product(int m, int n, int k, const std::string& type) {
  return fmt::format(
      R"(
func.func @main(%a: tensor<{0}x{2}x{3}>, %b: tensor<{2}x{1}x{3}>) -> tensor<{0}x{1}x{3}> {{
  %0 = kiln.matmul %a, %b : (tensor<{0}x{2}x{3}>, tensor<{2}x{1}x{3}>) -> tensor<{0}x{1}x{3}>
  return %0 : tensor<{0}x{1}x{3}>
}})",
      m, n, k, type);
}

struct Size {
  int m, n, k;
};
constexpr Size kSizes[] = {{1, 1, 1},    {4, 4, 4},    {7, 5, 3},     {33, 65, 17},  {64, 64, 64},
                           {1, 200, 40}, {200, 1, 40}, {5, 300, 147}, {128, 96, 80}, {197, 40, 24}};

TEST(EmulatedProduct, HasTheBitsOfTheCpu) {
  for (const Size s : kSizes) checkBits(product(s.m, s.n, s.k, "f32"));
  for (const char* type : {"f64", "i32", "i8", "i64"}) checkBits(product(37, 41, 19, type));
}

TEST(EmulatedProduct, OfMultiplyAndAddInTwo) {
  CheckOptions options;
  options.contraction = false;
  checkBits(product(33, 65, 17, "f32"), options);
}

TEST(EmulatedProduct, Of16BitFloatsOnTensorCores) {
  for (const Size s : kSizes) {
    checkNear(product(s.m, s.n, s.k, "f16"), 2e-3, 2e-3);
    checkNear(product(s.m, s.n, s.k, "bf16"), 2e-2, 2e-2);
  }
}

TEST(EmulatedProduct, OfF32AsTf32WhereThatIsAllowed) {
  CheckOptions options;
  options.tf32 = true;
  for (const Size s : {Size{33, 65, 17}, {64, 64, 64}, {5, 300, 147}})
    checkNear(product(s.m, s.n, s.k, "f32"), 5e-3, 5e-3, options);
}

TEST(EmulatedProduct, InBatchesTransposedAndWithWhatFollows) {
  for (const char* type : {"f32", "f16"}) {
    const std::string text = fmt::format(
        R"(
func.func @main(%a: tensor<3x2x17x40x{0}>, %b: tensor<3x2x33x40x{0}>, %c: tensor<33x{0}>, %r: tensor<3x2x17x33x{0}>) -> tensor<3x2x17x33x{0}> {{
  %t = kiln.transpose %b [0, 1, 3, 2] : tensor<3x2x33x40x{0}> to tensor<3x2x40x33x{0}>
  %0 = kiln.matmul %a, %t : (tensor<3x2x17x40x{0}>, tensor<3x2x40x33x{0}>) -> tensor<3x2x17x33x{0}>
  %1 = kiln.broadcast %c : tensor<33x{0}> to tensor<3x2x17x33x{0}>
  %2 = kiln.binary <add> %0, %1 : tensor<3x2x17x33x{0}>
  %3 = kiln.unary <tanh> %2 : tensor<3x2x17x33x{0}>
  %4 = kiln.binary <add> %2, %r : tensor<3x2x17x33x{0}>
  %5 = kiln.binary <mul> %3, %4 : tensor<3x2x17x33x{0}>
  return %5 : tensor<3x2x17x33x{0}>
}})",
        type);
    CheckOptions options;
    options.rewrite = true;
    if (std::string(type) == "f32")
      checkBits(text, options);
    else
      checkNear(text, 1e-2, 1e-2, options);
  }
}

TEST(EmulatedConvolution, OneToThreeDimensionsInGroups) {
  for (const char* type : {"f32", "i32", "f16"}) {
    const std::string texts[] = {fmt::format(R"(
func.func @main(%x: tensor<2x4x19x{0}>, %w: tensor<6x4x3x{0}>, %b: tensor<6x{0}>) -> tensor<2x6x10x{0}> {{
  %0 = kiln.conv %x, %w bias %b strides [2] pads [2, 3] dilations [2] group 1
    : (tensor<2x4x19x{0}>, tensor<6x4x3x{0}>, tensor<6x{0}>) -> tensor<2x6x10x{0}>
  return %0 : tensor<2x6x10x{0}>
}})",
                                             type),
                                 fmt::format(R"(
func.func @main(%x: tensor<1x8x9x11x{0}>, %w: tensor<10x4x3x2x{0}>) -> tensor<1x10x4x11x{0}> {{
  %0 = kiln.conv %x, %w strides [2, 1] pads [0, 1, 0, 0] dilations [1, 1] group 2
    : (tensor<1x8x9x11x{0}>, tensor<10x4x3x2x{0}>) -> tensor<1x10x4x11x{0}>
  return %0 : tensor<1x10x4x11x{0}>
}})",
                                             type),
                                 fmt::format(R"(
func.func @main(%x: tensor<1x16x9x9x{0}>, %w: tensor<24x16x1x1x{0}>, %b: tensor<24x{0}>) -> tensor<1x24x9x9x{0}> {{
  %0 = kiln.conv %x, %w bias %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1
    : (tensor<1x16x9x9x{0}>, tensor<24x16x1x1x{0}>, tensor<24x{0}>) -> tensor<1x24x9x9x{0}>
  %1 = kiln.unary <relu> %0 : tensor<1x24x9x9x{0}>
  return %1 : tensor<1x24x9x9x{0}>
}})",
                                             type),
                                 fmt::format(R"(
func.func @main(%x: tensor<2x6x9x9x{0}>, %w: tensor<6x1x3x3x{0}>) -> tensor<2x6x7x7x{0}> {{
  %0 = kiln.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 6
    : (tensor<2x6x9x9x{0}>, tensor<6x1x3x3x{0}>) -> tensor<2x6x7x7x{0}>
  return %0 : tensor<2x6x7x7x{0}>
}})",
                                             type),
                                 fmt::format(R"(
func.func @main(%x: tensor<2x4x5x6x7x{0}>, %w: tensor<16x2x2x3x3x{0}>, %b: tensor<16x{0}>) -> tensor<2x16x5x6x3x{0}> {{
  %0 = kiln.conv %x, %w bias %b strides [1, 1, 2] pads [0, 1, 0, 1, 1, 0] dilations [1, 1, 1] group 2
    : (tensor<2x4x5x6x7x{0}>, tensor<16x2x2x3x3x{0}>, tensor<16x{0}>) -> tensor<2x16x5x6x3x{0}>
  return %0 : tensor<2x16x5x6x3x{0}>
}})",
                                             type)};
    for (const std::string& text : texts) {
      CheckOptions options;
      options.rewrite = true;
      if (std::string(type) == "f16")
        checkNear(text, 4e-3, 4e-3, options);
      else
        checkBits(text, options);
    }
  }
}

std::string attention(int queries, int keys, int values, const std::string& type, bool masked) {
  return fmt::format(
      R"(
func.func @main(%q: tensor<2x3x{0}x16x{2}>, %k: tensor<2x3x{1}x16x{2}>, %v: tensor<2x3x{1}x{6}x{2}>{3}) -> tensor<2x3x{0}x{6}x{2}> {{
  %0 = kiln.attention %q, %k, %v {4}scale 2.5e-1 : (tensor<2x3x{0}x16x{2}>, tensor<2x3x{1}x16x{2}>, tensor<2x3x{1}x{6}x{2}>{5}) -> tensor<2x3x{0}x{6}x{2}>
  return %0 : tensor<2x3x{0}x{6}x{2}>
}})",
      queries, keys, type, masked ? fmt::format(", %m: tensor<2x3x{}x{}x{}>", queries, keys, type) : "",
      masked ? "mask %m " : "", masked ? fmt::format(", tensor<2x3x{}x{}x{}>", queries, keys, type) : "",
      values);
}

TEST(EmulatedAttention, MatchesTheReferenceInAnyShape) {
  for (bool masked : {false, true})
    for (auto [queries, keys] : {std::pair{1, 1}, {1, 40}, {7, 13}, {64, 96}, {70, 33}}) {
      checkNear(attention(queries, keys, 24, "f32", masked), 1e-4, 1e-5);
      // Rounded once, as the reference does: at most to the neighbour.
      checkNear(attention(queries, keys, 16, "f16", masked), 0x1p-10, 1e-6);
      checkNear(attention(queries, keys, 40, "bf16", masked), 0x1p-7, 1e-5);
    }
  // Of f64, and of rows too wide for registers, by the general way.
  checkNear(attention(7, 13, 24, "f64", true), 1e-4, 1e-5);
  checkNear(attention(5, 9, 264, "f32", false), 1e-4, 1e-5);
  checkNear(attention(5, 50, 256, "f32", false), 1e-4, 1e-5);
  checkNear(attention(70, 50, 256, "f16", false), 0x1p-10, 1e-6);
}

TEST(EmulatedAttention, OfF32AsTf32WhereThatIsAllowed) {
  CheckOptions options;
  options.tf32 = true;
  for (bool masked : {false, true})
    for (auto [queries, keys] : {std::pair{1, 40}, {7, 13}, {70, 33}})
      checkNear(attention(queries, keys, 24, "f32", masked), 5e-3, 5e-3, options);
}

TEST(EmulatedAttention, TakesTheSameMemoryAtAnyLength) {
  CheckOptions options;
  options.device = true;
  options.stage = "planned";
  const auto few = checkText(attention(16, 64, 16, "f32", false), options),
             many = checkText(attention(16, 2048, 16, "f32", false), options);
  ASSERT_TRUE(few) << few.error().message;
  ASSERT_TRUE(many) << many.error().message;
  EXPECT_EQ(few->scratchBytes, many->scratchBytes);
  EXPECT_EQ(many->arenaBytes, 0u);
}

TEST(EmulatedAttention, ARowThatIsMaskedEverywhereGivesZeros) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> q(2 * 3 * 8 * 16, 0.5f), k(2 * 3 * 40 * 16, 0.25f), v(2 * 3 * 40 * 24, 3.0f),
      m(2 * 3 * 8 * 40, 0.0f);
  for (int row = 0; row < 2 * 3 * 8; ++row)
    for (int s = 0; s < 40; ++s)
      if (row % 2 == 0 || s < 36) m[row * 40 + s] = -kInf;  // odd rows see their last keys only
  CheckOptions options;
  options.inputs = {HostTensor::of<float>(DType::kF32, {2, 3, 8, 16}, q),
                    HostTensor::of<float>(DType::kF32, {2, 3, 40, 16}, k),
                    HostTensor::of<float>(DType::kF32, {2, 3, 40, 24}, v),
                    HostTensor::of<float>(DType::kF32, {2, 3, 8, 40}, m)};
  options.device = true;
  auto checked = checkText(attention(8, 40, 24, "f32", true), options);
  ASSERT_TRUE(checked) << checked.error().message;
  for (int row = 0; row < 2 * 3 * 8; ++row)
    EXPECT_EQ(checked->outputs[0].data<float>()[row * 24], row % 2 ? 3.0f : 0.0f) << row;
}

}  // namespace
}  // namespace kiln::testing
