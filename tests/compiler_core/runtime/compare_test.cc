#include "compiler_core/runtime/compare/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace kiln::runtime {
namespace {

template <class T>
Comparison run(DType dtype, const std::vector<T>& got, const std::vector<T>& expected,
               Tolerance tolerance = {}) {
  const auto bytes = [](const std::vector<T>& v) {
    return Bytes(reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * sizeof(T));
  };
  return *compare(dtype, bytes(got), bytes(expected), tolerance);
}

TEST(Compare, ToleranceIsRelativeToTheExpectedValue) {
  EXPECT_TRUE(run<float>(DType::kF32, {100.09f, 0}, {100.0f, 1e-6f}).passed());
  const Comparison result = run<float>(DType::kF32, {1, 100.2f, 3.5f}, {1, 100.0f, 3});
  EXPECT_EQ(result.mismatches, 2u);
  EXPECT_EQ(result.worstIndex, 2u);
  EXPECT_EQ(result.text(), "2 of 3 elements differ; worst at 2: got 3.5, expected 3");
  EXPECT_DOUBLE_EQ(result.maxAbsolute, 0.5);
}

TEST(Compare, TheWholeTensorsErrorIsBesideItsSize) {
  // Errors 3 and 4 beside values of root mean square 50, whatever the single results are.
  EXPECT_DOUBLE_EQ(run<float>(DType::kF32, {73, 4, 0, 0}, {70, 0, 0, 0}).rmsRelative, 5.0 / 70);
  EXPECT_EQ(run<float>(DType::kF32, {1, 2}, {1, 2}).rmsRelative, 0);
  EXPECT_EQ(run<float>(DType::kF32, {0, 0}, {0, 0}).rmsRelative, 0);
  EXPECT_EQ(run<float>(DType::kF32, {1, 0}, {0, 0}).rmsRelative, HUGE_VAL);
  EXPECT_DOUBLE_EQ(run<float>(DType::kF32, {HUGE_VALF, 1}, {HUGE_VALF, 2}).rmsRelative, 0.5);
}

TEST(Compare, NanAndInfinity) {
  const float nan = std::nanf(""), inf = HUGE_VALF;
  EXPECT_TRUE(run<float>(DType::kF32, {nan, -nan, inf, -inf}, {nan, nan, inf, -inf}).passed());
  EXPECT_EQ(run<float>(DType::kF32, {nan, 1, inf, inf, 1}, {1, nan, -inf, 1, inf}).mismatches, 5u);
  EXPECT_FALSE(run<float>(DType::kF32, {inf}, {3e38f}, {.relative = 1e30, .absolute = 1e30}).passed());
}

TEST(Compare, IntegersBeyondDoublePrecision) {
  const std::int64_t big = (std::int64_t{1} << 62) + 1;
  EXPECT_FALSE(run<std::int64_t>(DType::kI64, {big}, {big - 1}, {.relative = 0, .absolute = 0}).passed());
  EXPECT_TRUE(run<std::int64_t>(DType::kI64, {big}, {big}, {.relative = 0, .absolute = 0}).passed());
}

TEST(Compare, SixteenBitFloats) {
  const Tolerance exact{.relative = 0, .absolute = 0};
  const Comparison half =
      run<std::uint16_t>(DType::kF16, {0x3c00, 0x0001, 0xc000}, {0x3c00, 0x0001, 0xc001}, exact);
  EXPECT_EQ(half.mismatches, 1u);
  EXPECT_EQ(half.got, -2.0);
  EXPECT_EQ(half.expected, -2.001953125);
  EXPECT_EQ(run<std::uint16_t>(DType::kBF16, {0x3f80}, {0x3f81}, exact).expected, 1.0078125);
  EXPECT_TRUE(run<std::uint16_t>(DType::kF16, {0x7e00, 0x7c00}, {0xfe01, 0x7c00}, exact).passed());
}

TEST(Compare, NarrowTypesMayRoundToNeighbours) {
  const auto passes = [](DType dtype, std::uint8_t got, std::uint8_t expected) {
    return run<std::uint8_t>(dtype, {got}, {expected}, toleranceFor(dtype, {})).passed();
  };
  EXPECT_TRUE(passes(DType::kF8E4M3FN, 0x39, 0x38));
  EXPECT_FALSE(passes(DType::kF8E4M3FN, 0x3a, 0x38));
  EXPECT_TRUE(passes(DType::kF4E2M1FN, 3, 2));
  EXPECT_FALSE(passes(DType::kF4E2M1FN, 4, 2));
  EXPECT_TRUE(passes(DType::kF8E8M0FNU, 128, 127));
  EXPECT_FALSE(passes(DType::kF8E8M0FNU, 129, 127));
  EXPECT_FALSE(passes(DType::kI4, 3, 2)) << "integers are exact";
  EXPECT_EQ(toleranceFor(DType::kF32, {}).relative, Tolerance().relative);
}

TEST(Compare, SizesMustAgree) {
  const std::uint8_t bytes[8] = {};
  EXPECT_FALSE(compare(DType::kF32, Bytes(bytes, 8), Bytes(bytes, 4), {}));
  EXPECT_FALSE(compare(DType::kF32, Bytes(bytes, 7), Bytes(bytes, 7), {}));
  EXPECT_TRUE(compare(DType::kF32, Bytes(), Bytes(), {})->passed());
}

}  // namespace
}  // namespace kiln::runtime
