// Each operation of symbolic shape gives the bits of the static compile, at the ends of the ranges and
// between.
#include <gtest/gtest.h>

#include "tests/compiler_core/dynamic/symbolic.h"

namespace kiln::testing {
namespace {

void check(const std::string& body, std::vector<std::pair<std::string, SymbolSpan>> symbols) {
  SymbolicCheck wanted;
  wanted.text = "func.func @main" + body;
  wanted.symbols = std::move(symbols);
  auto passed = checkSymbolic(wanted);
  EXPECT_TRUE(passed) << passed.error().message << "\n" << wanted.text;
}

// Compiled for a device, with the bits of the static compile for the CPU or as near as `wanted` says.
void checkOnDevice(const std::string& body, std::vector<std::pair<std::string, SymbolSpan>> symbols,
                   SymbolicCheck wanted = {}) {
  wanted.text = "func.func @main" + body;
  wanted.symbols = std::move(symbols);
  wanted.device = true;
  auto passed = checkSymbolic(wanted);
  EXPECT_TRUE(passed) << passed.error().message << "\n" << wanted.text;
}

constexpr SymbolSpan kBatch = {1, 8, 37};

// Parts of registers under a mask, where this processor has them.
void checkMasked(const std::string& body, std::vector<std::pair<std::string, SymbolSpan>> symbols) {
  if (!__builtin_cpu_supports("avx512vl")) GTEST_SKIP() << "no AVX-512";
  SymbolicCheck wanted;
  wanted.text = "func.func @main" + body;
  wanted.symbols = std::move(symbols);
  wanted.target = "cpu:x86-64-v4";
  auto passed = checkSymbolic(wanted);
  EXPECT_TRUE(passed) << passed.error().message << "\n" << wanted.text;
}

TEST(Symbolic, ElementwiseChain) {
  check(R"((%x: tensor<[N]x33xf32>, %y: tensor<[N]x33xf32>) -> tensor<[N]x33xf32> {
  %0 = kiln.binary <add> %x, %y : tensor<[N]x33xf32>
  %1 = kiln.unary <exp> %0 : tensor<[N]x33xf32>
  %2 = kiln.binary <mul> %1, %x : tensor<[N]x33xf32>
  return %2 : tensor<[N]x33xf32>
})",
        {{"N", kBatch}});
}

TEST(Symbolic, ElementwiseInTheLastDimension) {
  check(R"((%x: tensor<3x[N]xf32>) -> tensor<3x[N]xf32> {
  %0 = kiln.unary <tanh> %x : tensor<3x[N]xf32>
  return %0 : tensor<3x[N]xf32>
})",
        {{"N", {1, 100, 300}}});
}

TEST(Symbolic, MatmulInRows) {
  check(R"((%x: tensor<[N]x64xf32>) -> tensor<[N]x50xf32> {
  %w = kiln.weight 0 : tensor<64x50xf32>
  %c = kiln.weight 1 : tensor<50xf32>
  %0 = kiln.matmul %x, %w : (tensor<[N]x64xf32>, tensor<64x50xf32>) -> tensor<[N]x50xf32>
  %1 = kiln.broadcast %c : tensor<50xf32> to tensor<[N]x50xf32>
  %2 = kiln.binary <add> %0, %1 : tensor<[N]x50xf32>
  %3 = kiln.unary <relu> %2 : tensor<[N]x50xf32>
  return %3 : tensor<[N]x50xf32>
})",
        {{"N", kBatch}});
}

TEST(Symbolic, MatmulInAllDimensions) {
  check(R"((%x: tensor<[M]x[K]xf32>, %y: tensor<[K]x[N]xf32>) -> tensor<[M]x[N]xf32> {
  %0 = kiln.matmul %x, %y : (tensor<[M]x[K]xf32>, tensor<[K]x[N]xf32>) -> tensor<[M]x[N]xf32>
  return %0 : tensor<[M]x[N]xf32>
})",
        {{"M", {1, 64, 200}}, {"K", {1, 300, 1100}}, {"N", {1, 100, 530}}});
}

TEST(Symbolic, MatmulOnADevice) {
  checkOnDevice(R"((%x: tensor<[M]x[K]xf32>, %y: tensor<[K]x[N]xf32>) -> tensor<[M]x[N]xf32> {
  %0 = kiln.matmul %x, %y : (tensor<[M]x[K]xf32>, tensor<[K]x[N]xf32>) -> tensor<[M]x[N]xf32>
  %1 = kiln.unary <relu> %0 : tensor<[M]x[N]xf32>
  return %1 : tensor<[M]x[N]xf32>
})",
                {{"M", {1, 64, 150}}, {"K", {1, 100, 110}}, {"N", {1, 70, 140}}});
}

TEST(Symbolic, ConvolutionOnADevice) {
  checkOnDevice(R"((%x: tensor<[N]x5x[H]x[W]xf32>) -> tensor<[N]x8x[H]x[W]xf32> {
  %w = kiln.weight 0 : tensor<8x5x3x3xf32>
  %0 = kiln.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1
    : (tensor<[N]x5x[H]x[W]xf32>, tensor<8x5x3x3xf32>) -> tensor<[N]x8x[H]x[W]xf32>
  return %0 : tensor<[N]x8x[H]x[W]xf32>
})",
                {{"N", {1, 2, 3}}, {"H", {3, 9, 20}}, {"W", {3, 11, 40}}});
}

TEST(Symbolic, MatmulOfTf32OnADevice) {
  SymbolicCheck near;
  near.tf32 = true;
  near.relative = near.absolute = 5e-3;
  checkOnDevice(R"((%x: tensor<[M]x[K]xf32>, %y: tensor<[K]x[N]xf32>) -> tensor<[M]x[N]xf32> {
  %0 = kiln.matmul %x, %y : (tensor<[M]x[K]xf32>, tensor<[K]x[N]xf32>) -> tensor<[M]x[N]xf32>
  return %0 : tensor<[M]x[N]xf32>
})",
                {{"M", {1, 64, 150}}, {"K", {1, 100, 110}}, {"N", {1, 70, 140}}}, near);
}

// Lengths at both ends of a profile, where it is made for, and between: none a multiple of a tile (64
// queries, 32 keys) but 64 and 96.
std::string attentionText(const std::string& type) {
  std::string text = R"((%q: tensor<2x3x[L]x24xT>, %k: tensor<2x3x[S]x24xT>, %v: tensor<2x3x[S]x40xT>,
                     %m: tensor<2x3x[L]x[S]xT>) -> tensor<2x3x[L]x40xT> {
  %0 = kiln.attention %q, %k, %v mask %m scale 2.5e-1 : (tensor<2x3x[L]x24xT>, tensor<2x3x[S]x24xT>,
    tensor<2x3x[S]x40xT>, tensor<2x3x[L]x[S]xT>) -> tensor<2x3x[L]x40xT>
  return %0 : tensor<2x3x[L]x40xT>
})";
  for (std::size_t at; (at = text.find("xT>")) != std::string::npos;) text.replace(at + 1, 1, type);
  return text;
}
void checkAttentionOnDevice(const std::string& type, double relative, double absolute, bool tf32 = false) {
  SymbolicCheck near;
  near.tf32 = tf32;
  near.relative = relative;
  near.absolute = absolute;
  near.runs = {{1, 1}, {64, 96}, {130, 205}, {65, 31}, {17, 97}};
  checkOnDevice(attentionText(type), {{"L", {1, 64, 130}}, {"S", {1, 96, 205}}}, near);
}

TEST(Symbolic, AttentionOnADevice) {
  checkAttentionOnDevice("f32", 1e-5, 1e-6);
}

// A step of the result's type: both are an f32 that is rounded once.
TEST(Symbolic, AttentionOf16BitFloatsOnADevice) {
  checkAttentionOnDevice("f16", 0x1p-10, 1e-6);
  checkAttentionOnDevice("bf16", 0x1p-7, 1e-5);
}

TEST(Symbolic, AttentionOfTf32OnADevice) {
  checkAttentionOnDevice("f32", 5e-3, 5e-3, true);
}

TEST(Symbolic, Softmax) {
  check(R"((%x: tensor<[N]x10xf32>) -> tensor<[N]x10xf32> {
  %0 = kiln.softmax %x axis 1 : tensor<[N]x10xf32>
  return %0 : tensor<[N]x10xf32>
})",
        {{"N", kBatch}});
  check(R"((%x: tensor<5x[N]xf32>) -> tensor<5x[N]xf32> {
  %0 = kiln.softmax %x axis 1 : tensor<5x[N]xf32>
  return %0 : tensor<5x[N]xf32>
})",
        {{"N", {1, 50, 700}}});
}

TEST(Symbolic, MaskedElementwise) {
  checkMasked(R"((%x: tensor<3x[N]xf32>, %y: tensor<[N]xi32>) -> (tensor<3x[N]xf32>, tensor<[N]xi32>) {
  %0 = kiln.unary <tanh> %x : tensor<3x[N]xf32>
  %1 = kiln.binary <div> %y, %y : tensor<[N]xi32>
  return %0, %1 : tensor<3x[N]xf32>, tensor<[N]xi32>
})",
              {{"N", {1, 17, 100}}});
}

TEST(Symbolic, MaskedMatmul) {
  checkMasked(R"((%x: tensor<[M]x[K]xf32>, %y: tensor<[K]x[N]xf32>) -> tensor<[M]x[N]xf32> {
  %0 = kiln.matmul %x, %y : (tensor<[M]x[K]xf32>, tensor<[K]x[N]xf32>) -> tensor<[M]x[N]xf32>
  %1 = kiln.unary <relu> %0 : tensor<[M]x[N]xf32>
  return %1 : tensor<[M]x[N]xf32>
})",
              {{"M", {1, 40, 100}}, {"K", {1, 60, 70}}, {"N", {1, 100, 150}}});
}

constexpr const char* kRows =
    R"((%x: tensor<5x[N]xf32>) -> (tensor<5x[N]xf32>, tensor<5xf32>, tensor<5xf32>) {
  %0 = kiln.softmax %x axis 1 : tensor<5x[N]xf32>
  %1 = kiln.reduce <max> %x axes [1] : tensor<5x[N]xf32> to tensor<5xf32>
  %2 = kiln.binary <mul> %x, %x : tensor<5x[N]xf32>
  %3 = kiln.reduce <sum> %2 axes [1] : tensor<5x[N]xf32> to tensor<5xf32>
  return %0, %1, %3 : tensor<5x[N]xf32>, tensor<5xf32>, tensor<5xf32>
})";

TEST(Symbolic, Rows) {
  check(kRows, {{"N", {1, 50, 700}}});
  checkOnDevice(kRows, {{"N", {1, 50, 700}}});
}

TEST(Symbolic, MaskedRows) {
  checkMasked(kRows, {{"N", {1, 50, 700}}});
}

TEST(Symbolic, Reduce) {
  check(R"((%x: tensor<[N]x7x[M]xf32>) -> (tensor<[N]x[M]xf32>, tensor<7xf32>) {
  %0 = kiln.reduce <sum> %x axes [1] : tensor<[N]x7x[M]xf32> to tensor<[N]x[M]xf32>
  %1 = kiln.reduce <max> %x axes [0, 2] : tensor<[N]x7x[M]xf32> to tensor<7xf32>
  return %0, %1 : tensor<[N]x[M]xf32>, tensor<7xf32>
})",
        {{"N", kBatch}, {"M", {1, 16, 40}}});
}

TEST(Symbolic, ReshapeTransposeConcatSlice) {
  check(
      R"((%x: tensor<[N]x4x6xf32>) -> (tensor<[N*4]x6xf32>, tensor<6x[N]x4xf32>, tensor<[2*N]x4x6xf32>, tensor<[N]x2x3xf32>) {
  %0 = kiln.reshape %x : tensor<[N]x4x6xf32> to tensor<[N*4]x6xf32>
  %1 = kiln.transpose %x [2, 0, 1] : tensor<[N]x4x6xf32> to tensor<6x[N]x4xf32>
  %2 = kiln.concat %x, %x axis 0 : (tensor<[N]x4x6xf32>, tensor<[N]x4x6xf32>) -> tensor<[2*N]x4x6xf32>
  %3 = kiln.slice %x offsets [0, 3, 1] strides [1, -2, 2] : tensor<[N]x4x6xf32> to tensor<[N]x2x3xf32>
  return %0, %1, %2, %3 : tensor<[N*4]x6xf32>, tensor<6x[N]x4xf32>, tensor<[2*N]x4x6xf32>, tensor<[N]x2x3xf32>
})",
      {{"N", kBatch}});
}

}  // namespace
}  // namespace kiln::testing
