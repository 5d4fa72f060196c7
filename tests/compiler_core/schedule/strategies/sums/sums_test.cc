// Sums along the innermost dimension have the bits that partial_sums.h says, whatever the width of a
// register, the way the operands lie, and on devices.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

using reference::HostTensor;

// Of `outer` runs of `inner` elements each, every one `step` elements behind the one before.
float partialSum(const float* from, std::size_t outer, std::size_t outerStep, std::size_t inner,
                 std::size_t step) {
  std::array<float, 16> partials{};
  for (std::size_t i = 0; i < outer; ++i)
    for (std::size_t j = 0; j < inner; ++j) partials[j % 16] += from[i * outerStep + j * step];
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) partials[i] += partials[i + half];
  return partials[0];
}

// Numbers whose sum depends on its order.
HostTensor uneven(std::vector<std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  std::vector<float> values(count);
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-28f;
  }
  return HostTensor::of<float>(DType::kF32, std::move(shape), values);
}

// The outputs on every kind of register that this machine has, and on a device, are `expected`.
void expectSums(const std::string& text, const HostTensor& input, const std::vector<float>& expected) {
  CheckOptions options;
  options.inputs = {input};
  options.absolute = 1e-2;
  const auto check = [&](const char* where) {
    const auto got = checkText(text, options);
    ASSERT_TRUE(got) << where << ": " << got.error().message << "\n" << text;
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(got->outputs[0].data<float>()[i], expected[i]) << where << ", result " << i << "\n" << text;
  };
  check("x86-64-v3");
  if (__builtin_cpu_supports("avx512vl")) {
    options.target = "cpu:x86-64-v4";
    check("x86-64-v4");
    options.target = "cpu:x86-64-v3";
  }
  options.device = true;
  check("device");
}

TEST(Sums, AlongRows) {
  for (const std::size_t columns : {1, 7, 8, 16, 19, 32, 75, 1000}) {
    const HostTensor x = uneven({3, static_cast<std::int64_t>(columns)});
    std::vector<float> expected;
    for (std::size_t row = 0; row < 3; ++row)
      expected.push_back(partialSum(x.data<float>() + row * columns, 1, 0, columns, 1));
    expectSums(fmt::format(R"(
func.func @main(%x: tensor<3x{0}xf32>) -> tensor<3xf32> {{
  %0 = kiln.reduce <sum> %x axes [1] : tensor<3x{0}xf32> to tensor<3xf32>
  return %0 : tensor<3xf32>
}})",
                           columns),
               x, expected);
  }
}

TEST(Sums, OverOuterDimensionsToo) {
  const HostTensor x = uneven({4, 5, 23});
  std::vector<float> expected;
  for (std::size_t i = 0; i < 5; ++i)
    expected.push_back(partialSum(x.data<float>() + i * 23, 4, 5 * 23, 23, 1));
  expectSums(R"(
func.func @main(%x: tensor<4x5x23xf32>) -> tensor<5xf32> {
  %0 = kiln.reduce <sum> %x axes [0, 2] : tensor<4x5x23xf32> to tensor<5xf32>
  return %0 : tensor<5xf32>
})",
             x, expected);
}

// Vectors lie across the rows where those are side by side in memory.
TEST(Sums, OfTransposedOperands) {
  const HostTensor x = uneven({45, 37});
  std::vector<float> expected;
  for (std::size_t i = 0; i < 37; ++i) expected.push_back(partialSum(x.data<float>() + i, 1, 0, 45, 37));
  expectSums(R"(
func.func @main(%x: tensor<45x37xf32>) -> tensor<37xf32> {
  %0 = kiln.transpose %x [1, 0] : tensor<45x37xf32> to tensor<37x45xf32>
  %1 = kiln.reduce <sum> %0 axes [1] : tensor<37x45xf32> to tensor<37xf32>
  return %1 : tensor<37xf32>
})",
             x, expected);
}

// Element by element.
TEST(Sums, OfEverySecondElement) {
  const HostTensor x = uneven({3, 90});
  std::vector<float> expected;
  for (std::size_t row = 0; row < 3; ++row)
    expected.push_back(partialSum(x.data<float>() + row * 90, 1, 0, 45, 2));
  expectSums(R"(
func.func @main(%x: tensor<3x90xf32>) -> tensor<3xf32> {
  %0 = kiln.slice %x offsets [0, 0] strides [1, 2] : tensor<3x90xf32> to tensor<3x45xf32>
  %1 = kiln.reduce <sum> %0 axes [1] : tensor<3x45xf32> to tensor<3xf32>
  return %1 : tensor<3xf32>
})",
             x, expected);
}

// A NaN of either sign, a zero of either sign, and none of them, in rows of whole vectors and of parts.
TEST(MinMax, NansAndZerosOfARow) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  for (const std::int64_t columns : {5, 16, 77})
    for (const char* kind : {"max", "min"}) {
      std::vector<float> values;
      const float sign = kind[1] == 'a' ? -1.0f : 1.0f;  // all but what is put in below loses
      for (const float special : {kNan, -kNan, 0.0f, -0.0f, kInf, -kInf, 1.0f}) {
        for (std::int64_t i = 0; i < columns; ++i) values.push_back(sign * (2.0f + static_cast<float>(i)));
        values[values.size() - 3] = special;
      }
      CheckOptions options;
      options.inputs = {HostTensor::of<float>(DType::kF32, {7, columns}, values)};
      const std::string text = fmt::format(R"(
func.func @main(%x: tensor<7x{0}xf32>) -> tensor<7xf32> {{
  %0 = kiln.reduce <{1}> %x axes [1] : tensor<7x{0}xf32> to tensor<7xf32>
  return %0 : tensor<7xf32>
}})",
                                           columns, kind);
      const auto got = checkText(text, options);
      ASSERT_TRUE(got) << got.error().message << "\n" << text;
      const float* best = got->outputs[0].data<float>();
      EXPECT_FALSE(std::signbit(best[2])) << text;
      EXPECT_TRUE(std::signbit(best[3])) << text;
    }
}

}  // namespace
}  // namespace kiln::testing
