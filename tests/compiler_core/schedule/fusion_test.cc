// What the rewrites and the schedule make one kernel of, in the forms that models have: nothing of full size
// between its operations reaches the arena.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

int kernelsIn(const std::string& ir) {
  int count = 0;
  while (ir.find(fmt::format("func.func private @kiln_k{}", count)) != std::string::npos) ++count;
  return count;
}

void expectKernels(int count, const std::string& text, std::uint64_t arenaBytes) {
  CheckOptions options;
  options.rewrite = true;
  auto checked = checkText(text, options);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(kernelsIn(checked->ir), count) << checked->ir;
  EXPECT_LE(checked->arenaBytes, arenaBytes);
}
void expectOneKernel(const std::string& text) {
  expectKernels(1, text, 0);
}

// `body` sees %x of `shape` and what keeps dimensions of 1 where rows were reduced; returns %y.
std::string function(const std::string& shape, const std::string& body, const std::string& arguments = "") {
  return fmt::format(
      "func.func @main(%x: tensor<{0}xf32>{1}) -> tensor<{0}xf32> {{\n{2}\n  return %y : tensor<{0}xf32>\n}}",
      shape, arguments, body);
}

// The mean over the last dimension of `from`, kept as 1: as importers write ReduceMean.
std::string mean(const std::string& to, const std::string& from, const std::string& full,
                 const std::string& kept, const std::string& rows, int count) {
  return fmt::format(R"(
  %{0}s = kiln.reduce <sum> %{1} axes [2] : tensor<{2}xf32> to tensor<{4}xf32>
  %{0}r = kiln.reshape %{0}s : tensor<{4}xf32> to tensor<{3}xf32>
  %{0}n = kiln.constant dense<{5}.0> : tensor<{3}xf32>
  %{0} = kiln.binary <div> %{0}r, %{0}n : tensor<{3}xf32>
  %{0}b = kiln.broadcast %{0} : tensor<{3}xf32> to tensor<{2}xf32>)",
                     to, from, full, kept, rows, count);
}

const std::string kScaleAndOffset = R"(
  %sb = kiln.broadcast %s : tensor<256xf32> to tensor<4x128x256xf32>
  %scaled = kiln.binary <mul> %unit, %sb : tensor<4x128x256xf32>
  %ob = kiln.broadcast %o : tensor<256xf32> to tensor<4x128x256xf32>
  %y = kiln.binary <add> %scaled, %ob : tensor<4x128x256xf32>)";
const std::string kParameters = ", %s: tensor<256xf32>, %o: tensor<256xf32>";

TEST(Normalise, LayerNormalisationIsOneKernel) {
  expectOneKernel(function("4x128x256",
                           mean("m", "x", "4x128x256", "4x128x1", "4x128", 256) + R"(
  %c = kiln.binary <sub> %x, %mb : tensor<4x128x256xf32>
  %q = kiln.binary <mul> %c, %c : tensor<4x128x256xf32>)" +
                               mean("v", "q", "4x128x256", "4x128x1", "4x128", 256) + R"(
  %e = kiln.constant dense<1.0e-5> : tensor<4x128x1xf32>
  %1 = kiln.binary <add> %v, %e : tensor<4x128x1xf32>
  %2 = kiln.unary <sqrt> %1 : tensor<4x128x1xf32>
  %3 = kiln.unary <reciprocal> %2 : tensor<4x128x1xf32>
  %4 = kiln.broadcast %3 : tensor<4x128x1xf32> to tensor<4x128x256xf32>
  %unit = kiln.binary <mul> %c, %4 : tensor<4x128x256xf32>)" +
                               kScaleAndOffset,
                           kParameters));
}

// ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add.
TEST(Normalise, LayerNormalisationInItsPartsIsOneKernel) {
  expectOneKernel(function("4x128x256",
                           mean("m", "x", "4x128x256", "4x128x1", "4x128", 256) + R"(
  %c = kiln.binary <sub> %x, %mb : tensor<4x128x256xf32>
  %two = kiln.constant dense<2.0> : tensor<4x128x256xf32>
  %q = kiln.binary <pow> %c, %two : tensor<4x128x256xf32>)" +
                               mean("v", "q", "4x128x256", "4x128x1", "4x128", 256) + R"(
  %e = kiln.constant dense<1.0e-5> : tensor<4x128x1xf32>
  %1 = kiln.binary <add> %v, %e : tensor<4x128x1xf32>
  %2 = kiln.unary <sqrt> %1 : tensor<4x128x1xf32>
  %3 = kiln.broadcast %2 : tensor<4x128x1xf32> to tensor<4x128x256xf32>
  %unit = kiln.binary <div> %c, %3 : tensor<4x128x256xf32>)" +
                               kScaleAndOffset,
                           kParameters));
}

TEST(Normalise, RootMeanSquareNormalisationIsOneKernel) {
  expectOneKernel(function("4x128x256",
                           R"(
  %q = kiln.binary <mul> %x, %x : tensor<4x128x256xf32>)" +
                               mean("v", "q", "4x128x256", "4x128x1", "4x128", 256) + R"(
  %e = kiln.constant dense<1.0e-5> : tensor<4x128x1xf32>
  %1 = kiln.binary <add> %v, %e : tensor<4x128x1xf32>
  %2 = kiln.unary <sqrt> %1 : tensor<4x128x1xf32>
  %3 = kiln.unary <reciprocal> %2 : tensor<4x128x1xf32>
  %4 = kiln.broadcast %3 : tensor<4x128x1xf32> to tensor<4x128x256xf32>
  %unit = kiln.binary <mul> %x, %4 : tensor<4x128x256xf32>)" +
                               kScaleAndOffset,
                           kParameters));
}

// Statistics over groups of channels in one kernel, parameters per channel in another.
TEST(Normalise, GroupNormalisationIsTwoKernels) {
  expectKernels(2,
                function("2x32x8x8",
                         R"(
  %g = kiln.reshape %x : tensor<2x32x8x8xf32> to tensor<2x4x512xf32>)" +
                             mean("m", "g", "2x4x512", "2x4x1", "2x4", 512) + R"(
  %c = kiln.binary <sub> %g, %mb : tensor<2x4x512xf32>
  %q = kiln.binary <mul> %c, %c : tensor<2x4x512xf32>)" +
                             mean("v", "q", "2x4x512", "2x4x1", "2x4", 512) + R"(
  %e = kiln.constant dense<1.0e-5> : tensor<2x4x1xf32>
  %1 = kiln.binary <add> %v, %e : tensor<2x4x1xf32>
  %2 = kiln.unary <sqrt> %1 : tensor<2x4x1xf32>
  %3 = kiln.broadcast %2 : tensor<2x4x1xf32> to tensor<2x4x512xf32>
  %4 = kiln.binary <div> %c, %3 : tensor<2x4x512xf32>
  %5 = kiln.reshape %4 : tensor<2x4x512xf32> to tensor<2x4x8x8x8xf32>
  %6 = kiln.reshape %s : tensor<32xf32> to tensor<4x8x1x1xf32>
  %7 = kiln.broadcast %6 : tensor<4x8x1x1xf32> to tensor<2x4x8x8x8xf32>
  %8 = kiln.binary <mul> %5, %7 : tensor<2x4x8x8x8xf32>
  %y = kiln.reshape %8 : tensor<2x4x8x8x8xf32> to tensor<2x32x8x8xf32>)",
                         ", %s: tensor<32xf32>"),
                3 * 2 * 32 * 8 * 8 * 4 + 64);
}

TEST(Normalise, SoftmaxAndItsLogarithmAreOneKernel) {
  expectOneKernel(function("4x128x256", "  %y = kiln.softmax %x axis 2 : tensor<4x128x256xf32>"));
  expectOneKernel(function("4x128x256", "  %y = kiln.softmax %x axis 1 : tensor<4x128x256xf32>"));
  // ReduceMax, Sub, Exp, ReduceSum, Log, Sub, each with a dimension of 1 kept.
  expectOneKernel(function("4x128x256", R"(
  %0 = kiln.reduce <max> %x axes [2] : tensor<4x128x256xf32> to tensor<4x128xf32>
  %1 = kiln.reshape %0 : tensor<4x128xf32> to tensor<4x128x1xf32>
  %2 = kiln.broadcast %1 : tensor<4x128x1xf32> to tensor<4x128x256xf32>
  %3 = kiln.binary <sub> %x, %2 : tensor<4x128x256xf32>
  %4 = kiln.unary <exp> %3 : tensor<4x128x256xf32>
  %5 = kiln.reduce <sum> %4 axes [2] : tensor<4x128x256xf32> to tensor<4x128xf32>
  %6 = kiln.reshape %5 : tensor<4x128xf32> to tensor<4x128x1xf32>
  %7 = kiln.unary <log> %6 : tensor<4x128x1xf32>
  %8 = kiln.broadcast %7 : tensor<4x128x1xf32> to tensor<4x128x256xf32>
  %y = kiln.binary <sub> %3, %8 : tensor<4x128x256xf32>)"));
}

// As exporters write a layer of a transformer: the product's rows are those of all sequences, bias and gelu
// see sequences again.
std::string dense(const std::string& activation) {
  return R"(
func.func @main(%x: tensor<2x64x96xf32>, %w: tensor<96x256xf32>, %b: tensor<256xf32>) -> tensor<2x64x256xf32> {
  %h = kiln.constant dense<0.5> : tensor<2x64x256xf32>
  %1 = kiln.constant dense<1.0> : tensor<2x64x256xf32>
  %r = kiln.constant dense<0.70710678> : tensor<2x64x256xf32>
  %t = kiln.constant dense<0.79788456> : tensor<2x64x256xf32>
  %k = kiln.constant dense<0.044715> : tensor<2x64x256xf32>
  %rows = kiln.reshape %x : tensor<2x64x96xf32> to tensor<128x96xf32>
  %p = kiln.matmul %rows, %w : (tensor<128x96xf32>, tensor<96x256xf32>) -> tensor<128x256xf32>
  %2 = kiln.reshape %p : tensor<128x256xf32> to tensor<2x64x256xf32>
  %3 = kiln.broadcast %b : tensor<256xf32> to tensor<2x64x256xf32>
  %4 = kiln.binary <add> %2, %3 : tensor<2x64x256xf32>)" +
         activation + R"(
  %8 = kiln.binary <mul> %4, %7 : tensor<2x64x256xf32>
  %9 = kiln.binary <mul> %8, %h : tensor<2x64x256xf32>
  return %9 : tensor<2x64x256xf32>
})";
}

// The product itself passes through the arena, which keeps all tiles of it.
constexpr std::uint64_t kProductBytes = 2 * 64 * 256 * 4;

TEST(Linear, AProductWithBiasAndGeluIsOneKernel) {
  expectKernels(1, dense(R"(
  %5 = kiln.binary <mul> %4, %r : tensor<2x64x256xf32>
  %6 = kiln.unary <erf> %5 : tensor<2x64x256xf32>
  %7 = kiln.binary <add> %6, %1 : tensor<2x64x256xf32>)"),
                kProductBytes);
}

TEST(Linear, AProductWithBiasAndTanhGeluIsOneKernel) {
  expectKernels(1, dense(R"(
  %c0 = kiln.binary <mul> %4, %4 : tensor<2x64x256xf32>
  %c1 = kiln.binary <mul> %c0, %4 : tensor<2x64x256xf32>
  %c2 = kiln.binary <mul> %c1, %k : tensor<2x64x256xf32>
  %c3 = kiln.binary <add> %4, %c2 : tensor<2x64x256xf32>
  %c4 = kiln.binary <mul> %c3, %t : tensor<2x64x256xf32>
  %6 = kiln.unary <tanh> %c4 : tensor<2x64x256xf32>
  %7 = kiln.binary <add> %6, %1 : tensor<2x64x256xf32>)"),
                kProductBytes);
}

// MatMul, Div, Add of a mask, Softmax, MatMul: no table of all scores.
TEST(Attention, InItsPartsKeepsItsScoresInTheScratchOfASlot) {
  CheckOptions options;
  options.rewrite = true;
  auto checked = checkText(R"(
func.func @main(%q: tensor<2x4x256x32xf32>, %k: tensor<2x4x256x32xf32>, %v: tensor<2x4x256x32xf32>, %m: tensor<2x1x1x256xf32>) -> tensor<2x4x256x32xf32> {
  %t = kiln.transpose %k [0, 1, 3, 2] : tensor<2x4x256x32xf32> to tensor<2x4x32x256xf32>
  %0 = kiln.matmul %q, %t : (tensor<2x4x256x32xf32>, tensor<2x4x32x256xf32>) -> tensor<2x4x256x256xf32>
  %r = kiln.constant dense<5.65685425> : tensor<2x4x256x256xf32>
  %1 = kiln.binary <div> %0, %r : tensor<2x4x256x256xf32>
  %mb = kiln.broadcast %m : tensor<2x1x1x256xf32> to tensor<2x4x256x256xf32>
  %2 = kiln.binary <add> %1, %mb : tensor<2x4x256x256xf32>
  %3 = kiln.softmax %2 axis 3 : tensor<2x4x256x256xf32>
  %4 = kiln.matmul %3, %v : (tensor<2x4x256x256xf32>, tensor<2x4x256x32xf32>) -> tensor<2x4x256x32xf32>
  return %4 : tensor<2x4x256x32xf32>
})",
                           options);
  ASSERT_TRUE(checked) << checked.error().message;
  // One kernel transposes the queries, one does the rest.
  EXPECT_EQ(kernelsIn(checked->ir), 2) << checked->ir;
  EXPECT_LE(checked->arenaBytes, 2 * 4 * 256 * 32 * 4u);  // the transposed queries; all scores would be 2 MiB
  EXPECT_LT(checked->scratchBytes, 256 * 256 * 4u);       // less than the scores of one head
}

// The layers of one shape are one function, called with other buffers; a part of a concatenation counts as a
// buffer of its own.
TEST(Share, LayersOfOneShapeAreOneFunction) {
  std::string text = "func.func @main(%v0: tensor<1x8x6x6xf32>) -> tensor<1x72x6x6xf32> {\n";
  for (int i = 1; i <= 8; ++i) {
    const std::string in = fmt::format("tensor<1x{}x6x6xf32>", 8 * i),
                      out = fmt::format("tensor<1x{}x6x6xf32>", 8 * i + 8);
    const std::string before = i == 1 ? "%v0" : fmt::format("%c{}", i - 1);
    text += fmt::format(R"(
  %w{0} = kiln.weight {0} : tensor<8x8x3x3xf32>
  %s{0} = kiln.slice {1} offsets [0, {2}, 0, 0] strides [1, 1, 1, 1] : {3} to tensor<1x8x6x6xf32>
  %v{0} = kiln.conv %s{0}, %w{0} strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %c{0} = kiln.concat {1}, %v{0} axis 1 : ({3}, tensor<1x8x6x6xf32>) -> {4})",
                        i, before, 8 * (i - 1), in, out);
  }
  CheckOptions options;
  options.relative = 1e-3;  // eight layers of sums of 72 products
  auto checked = checkText(text + "\n  return %c8 : tensor<1x72x6x6xf32>\n}", options);
  ASSERT_TRUE(checked) << checked.error().message;
  std::size_t shared = 0;
  for (std::size_t at = 0; (at = checked->ir.find("kiln.code_of", at)) != std::string::npos; ++at) ++shared;
  EXPECT_GE(shared, 14u) << checked->ir;  // eight convolutions, eight paddings
}

}  // namespace
}  // namespace kiln::testing
