// Elementwise, shape and reduction operations in every element type they have.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

using reference::HostTensor;

void check(const std::string& text, const CheckOptions& options = {}) {
  auto checked = checkText(text, options);
  EXPECT_TRUE(checked) << checked.error().message << "\n" << text;
}

std::string unary(const std::string& kind, const std::string& type) {
  return fmt::format(R"(
func.func @main(%x: tensor<3x37x{1}>) -> tensor<3x37x{1}> {{
  %0 = kiln.unary <{0}> %x : tensor<3x37x{1}>
  return %0 : tensor<3x37x{1}>
}})",
                     kind, type);
}

TEST(Elementwise, UnaryOnFloats) {
  for (const char* type : {"f32", "f64"})
    for (const char* kind : {"neg", "abs", "exp", "log", "sqrt", "reciprocal", "tanh", "erf", "sigmoid",
                             "relu", "ceil", "floor", "round", "sin", "cos"})
      check(unary(kind, type));
}

TEST(Elementwise, UnaryOnIntegersAndBools) {
  for (const char* type : {"i32", "i64"})
    for (const char* kind : {"neg", "abs", "relu"}) check(unary(kind, type));
  check(unary("not", "i1"));
}

TEST(Elementwise, SpecialValues) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  std::vector<float> values(3 * 37, 0.5f);
  const float special[] = {kNan,  kInf,   -kInf, 0.0f,  -0.0f,  1e-42f, -1e-42f,
                           3e38f, -3e38f, 2.5f,  -2.5f, 100.0f, -100.0f};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = special[i % std::size(special)];
  CheckOptions options;
  options.inputs = {HostTensor::of<float>(DType::kF32, {3, 37}, values)};
  for (const char* kind : {"neg", "abs", "exp", "log", "sqrt", "reciprocal", "tanh", "erf", "sigmoid", "relu",
                           "ceil", "floor", "round"})
    check(unary(kind, "f32"), options);
}

std::string binary(const std::string& kind, const std::string& type) {
  return fmt::format(R"(
func.func @main(%x: tensor<5x19x{1}>, %y: tensor<5x19x{1}>) -> tensor<5x19x{1}> {{
  %0 = kiln.binary <{0}> %x, %y : tensor<5x19x{1}>
  return %0 : tensor<5x19x{1}>
}})",
                     kind, type);
}

TEST(Elementwise, Binary) {
  for (const char* type : {"f32", "f64", "i32", "i64"})
    for (const char* kind : {"add", "sub", "mul", "div", "max", "min"}) check(binary(kind, type));
  for (const char* type : {"f32", "f64"}) check(binary("pow", type));
  for (const char* type : {"i1", "i32", "i64"})
    for (const char* kind : {"and", "or", "xor"}) check(binary(kind, type));
}

TEST(Elementwise, IntegerDivisionHasNoTrap) {
  std::vector<std::int32_t> x(95, std::numeric_limits<std::int32_t>::min()), y(95);
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = static_cast<std::int32_t>(i % 5) - 2;  // -2 .. 2, 0 among them
  CheckOptions options;
  options.inputs = {HostTensor::of<std::int32_t>(DType::kI32, {5, 19}, x),
                    HostTensor::of<std::int32_t>(DType::kI32, {5, 19}, y)};
  check(binary("div", "i32"), options);
}

TEST(Elementwise, CompareSelectAndCast) {
  for (const char* type : {"f32", "f64", "i32", "i64", "i1"})
    for (const char* kind : {"eq", "lt", "ge"}) {
      if (std::string(type) == "i1" && std::string(kind) != "eq") continue;
      check(fmt::format(R"(
func.func @main(%x: tensor<11x13x{1}>, %y: tensor<11x13x{1}>) -> (tensor<11x13xi1>, tensor<11x13x{1}>) {{
  %0 = kiln.compare <{0}> %x, %y : tensor<11x13x{1}>
  %1 = kiln.select %0, %x, %y : tensor<11x13xi1>, tensor<11x13x{1}>
  return %0, %1 : tensor<11x13xi1>, tensor<11x13x{1}>
}})",
                        kind, type));
    }
  const char* types[] = {"f32", "f64", "i32", "i64", "i1"};
  for (const char* from : types)
    for (const char* to : types)
      if (from != to)
        check(fmt::format(R"(
func.func @main(%x: tensor<101x{0}>) -> tensor<101x{1}> {{
  %0 = kiln.cast %x : tensor<101x{0}> to tensor<101x{1}>
  return %0 : tensor<101x{1}>
}})",
                          from, to));
}

TEST(Elementwise, CastsSaturate) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  std::vector<float> values;
  for (int i = 0; i < 101; ++i)
    values.push_back(
        std::vector<float>{kNan, kInf, -kInf, 3e9f, -3e9f, 1.9f, -1.9f, 2147483648.0f, 1e30f}[i % 9]);
  CheckOptions options;
  options.inputs = {HostTensor::of<float>(DType::kF32, {101}, values)};
  for (const char* to : {"i32", "i64", "i1"})
    check(fmt::format(R"(
func.func @main(%x: tensor<101xf32>) -> tensor<101x{0}> {{
  %0 = kiln.cast %x : tensor<101xf32> to tensor<101x{0}>
  return %0 : tensor<101x{0}>
}})",
                      to),
          options);
}

TEST(Shape, BroadcastTransposeReshape) {
  check(R"(
func.func @main(%x: tensor<4x1x6xf32>, %s: tensor<f32>) -> (tensor<2x4x5x6xf32>, tensor<6x4x1xf32>, tensor<3x8xf32>, tensor<3xf32>) {
  %0 = kiln.broadcast %x : tensor<4x1x6xf32> to tensor<2x4x5x6xf32>
  %1 = kiln.transpose %x [2, 0, 1] : tensor<4x1x6xf32> to tensor<6x4x1xf32>
  %2 = kiln.reshape %x : tensor<4x1x6xf32> to tensor<3x8xf32>
  %3 = kiln.broadcast %s : tensor<f32> to tensor<3xf32>
  return %0, %1, %2, %3 : tensor<2x4x5x6xf32>, tensor<6x4x1xf32>, tensor<3x8xf32>, tensor<3xf32>
})");
}

TEST(Shape, ConcatSliceGather) {
  check(R"(
func.func @main(%x: tensor<4x5xf32>, %y: tensor<4x3xf32>, %i: tensor<2x3xi64>) -> (tensor<4x8xf32>, tensor<2x2xf32>, tensor<4x2xf32>, tensor<4x2x3xf32>) {
  %0 = kiln.concat %x, %y axis 1 : (tensor<4x5xf32>, tensor<4x3xf32>) -> tensor<4x8xf32>
  %1 = kiln.slice %x offsets [1, 0] strides [2, 3] : tensor<4x5xf32> to tensor<2x2xf32>
  %2 = kiln.slice %x offsets [3, 4] strides [-1, -2] : tensor<4x5xf32> to tensor<4x2xf32>
  %3 = kiln.gather %x[%i] axis 1 : (tensor<4x5xf32>, tensor<2x3xi64>) -> tensor<4x2x3xf32>
  return %0, %1, %2, %3 : tensor<4x8xf32>, tensor<2x2xf32>, tensor<4x2xf32>, tensor<4x2x3xf32>
})");
}

TEST(Shape, AViewOfAnInputThatIsReshaped) {
  check(R"(
func.func @main(%x: tensor<8x6xf32>) -> tensor<12xf32> {
  %0 = kiln.slice %x offsets [0, 1] strides [2, 2] : tensor<8x6xf32> to tensor<4x3xf32>
  %1 = kiln.reshape %0 : tensor<4x3xf32> to tensor<12xf32>
  return %1 : tensor<12xf32>
})");
}

TEST(Shape, ConstantsAndIdentity) {
  check(R"(
func.func @main(%x: tensor<3xf32>, %b: tensor<2xi1>) -> (tensor<3xf32>, tensor<3xf32>, tensor<1000xf32>, tensor<2xi1>, tensor<2xi1>, tensor<3xf32>) {
  %c = kiln.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %s = kiln.constant dense<7.0> : tensor<1000xf32>
  %t = kiln.constant dense<[true, false]> : tensor<2xi1>
  %0 = kiln.binary <add> %x, %c : tensor<3xf32>
  return %x, %0, %s, %t, %b, %c : tensor<3xf32>, tensor<3xf32>, tensor<1000xf32>, tensor<2xi1>, tensor<2xi1>, tensor<3xf32>
})");
}

TEST(Reduce, EveryKindOverEveryAxis) {
  for (const char* type : {"f32", "f64", "i32", "i64"})
    for (const char* kind : {"sum", "max", "min", "prod"})
      check(fmt::format(R"(
func.func @main(%x: tensor<3x17x10x{1}>) -> (tensor<17x10x{1}>, tensor<3x10x{1}>, tensor<3x17x{1}>, tensor<{1}>, tensor<17x{1}>) {{
  %0 = kiln.reduce <{0}> %x axes [0] : tensor<3x17x10x{1}> to tensor<17x10x{1}>
  %1 = kiln.reduce <{0}> %x axes [1] : tensor<3x17x10x{1}> to tensor<3x10x{1}>
  %2 = kiln.reduce <{0}> %x axes [2] : tensor<3x17x10x{1}> to tensor<3x17x{1}>
  %3 = kiln.reduce <{0}> %x axes [0, 1, 2] : tensor<3x17x10x{1}> to tensor<{1}>
  %4 = kiln.reduce <{0}> %x axes [0, 2] : tensor<3x17x10x{1}> to tensor<17x{1}>
  return %0, %1, %2, %3, %4 : tensor<17x10x{1}>, tensor<3x10x{1}>, tensor<3x17x{1}>, tensor<{1}>, tensor<17x{1}>
}})",
                        kind, type));
}

TEST(Reduce, SoftmaxIsOneKernel) {
  for (int axis : {0, 1, 2})
    check(fmt::format(R"(
func.func @main(%x: tensor<4x33x21xf32>) -> tensor<4x33x21xf32> {{
  %0 = kiln.softmax %x axis {} : tensor<4x33x21xf32>
  return %0 : tensor<4x33x21xf32>
}})",
                      axis));
  auto checked = checkText(R"(
func.func @main(%x: tensor<512x100xf32>) -> tensor<512x100xf32> {
  %0 = kiln.softmax %x axis 1 : tensor<512x100xf32>
  return %0 : tensor<512x100xf32>
})");
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_NE(checked->ir.find("@kiln_k0"), std::string::npos);
  EXPECT_EQ(checked->ir.find("@kiln_k1"), std::string::npos) << checked->ir;
  EXPECT_EQ(checked->arenaBytes, 0u);
}

TEST(Reduce, ADecomposedSoftmaxIsOneKernelToo) {
  auto checked = checkText(R"(
func.func @main(%x: tensor<256x1000xf32>) -> tensor<256x1000xf32> {
  %0 = kiln.reduce <max> %x axes [1] : tensor<256x1000xf32> to tensor<256xf32>
  %1 = kiln.reshape %0 : tensor<256xf32> to tensor<256x1xf32>
  %2 = kiln.broadcast %1 : tensor<256x1xf32> to tensor<256x1000xf32>
  %3 = kiln.binary <sub> %x, %2 : tensor<256x1000xf32>
  %4 = kiln.unary <exp> %3 : tensor<256x1000xf32>
  %5 = kiln.reduce <sum> %4 axes [1] : tensor<256x1000xf32> to tensor<256xf32>
  %6 = kiln.reshape %5 : tensor<256xf32> to tensor<256x1xf32>
  %7 = kiln.broadcast %6 : tensor<256x1xf32> to tensor<256x1000xf32>
  %8 = kiln.binary <div> %4, %7 : tensor<256x1000xf32>
  return %8 : tensor<256x1000xf32>
})");
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->ir.find("@kiln_k1"), std::string::npos) << checked->ir;
  EXPECT_GT(checked->scratchBytes, 0u);
}

// Each value has two uses: fused without a bound, the first would be computed 2^40 times.
TEST(Reduce, ValuesUsedTwiceByValuesUsedTwiceCostNothingExtra) {
  std::string text = "func.func @main(%v0: tensor<8x16xf32>) -> tensor<8x16xf32> {\n";
  for (int i = 0; i < 40; ++i)
    text += fmt::format(R"(  %t{0} = kiln.unary <tanh> %v{0} : tensor<8x16xf32>
  %v{1} = kiln.binary <add> %v{0}, %t{0} : tensor<8x16xf32>
)",
                        i, i + 1);
  check(text + "  return %v40 : tensor<8x16xf32>\n}");
}

TEST(Normalise, BatchNorm) {
  check(R"(
func.func @main(%x: tensor<2x3x4x5xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>, %m: tensor<3xf32>) -> tensor<2x3x4x5xf32> {
  %v = kiln.constant dense<[0.5, 1.0, 2.0]> : tensor<3xf32>
  %0 = kiln.batch_norm %x, %s, %o, %m, %v epsilon 1.0e-5 : tensor<2x3x4x5xf32>, tensor<3xf32>
  return %0 : tensor<2x3x4x5xf32>
})");
}

}  // namespace
}  // namespace kiln::testing
