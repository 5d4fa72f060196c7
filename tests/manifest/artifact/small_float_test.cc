// The codes of small floats over all of them, against tables of the formats and a search for the nearest
// value.
#include "manifest/artifact/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace kiln {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

struct Case {
  DType type;
  unsigned bits;
  double largest, smallest;  // finite; above 0
  int nans;
  bool infinity, signedZero;
};
constexpr Case kCases[] = {
    {DType::kF16, 16, 65504, 5.9604644775390625e-8, 2046, true, true},
    {DType::kBF16, 16, 3.3895313892515355e38, 9.183549615799121e-41, 254, true, true},
    {DType::kF8E4M3FN, 8, 448, 0.001953125, 2, false, true},
    {DType::kF8E4M3FNUZ, 8, 240, 0.0009765625, 1, false, false},
    {DType::kF8E5M2, 8, 57344, 1.52587890625e-5, 6, true, true},
    {DType::kF8E5M2FNUZ, 8, 57344, 7.62939453125e-6, 1, false, false},
    {DType::kF4E2M1FN, 4, 6, 0.5, 0, false, true},
};

TEST(SmallFloat, FormatsHaveTheValuesTheyShould) {
  for (const Case& c : kCases) {
    const FloatFormat& format = *floatFormat(c.type);
    int nans = 0, infinities = 0, negativeZeros = 0;
    double largest = 0, smallest = kInf;
    for (std::uint32_t code = 0; code < 1u << c.bits; ++code) {
      const double value = decodeFloat(format, code);
      nans += std::isnan(value);
      infinities += std::isinf(value);
      negativeZeros += value == 0 && std::signbit(value);
      if (!std::isfinite(value) || value <= 0) continue;
      largest = std::max(largest, value);
      smallest = std::min(smallest, value);
    }
    EXPECT_EQ(nans, c.nans) << dtypeName(c.type);
    EXPECT_EQ(infinities, c.infinity ? 2 : 0) << dtypeName(c.type);
    EXPECT_EQ(negativeZeros, c.signedZero ? 1 : 0) << dtypeName(c.type);
    EXPECT_EQ(largest, c.largest) << dtypeName(c.type);
    EXPECT_EQ(smallest, c.smallest) << dtypeName(c.type);
  }
}

TEST(SmallFloat, EveryCodeComesBack) {
  for (const Case& c : kCases) {
    const FloatFormat& format = *floatFormat(c.type);
    for (std::uint32_t code = 0; code < 1u << c.bits; ++code) {
      const double value = decodeFloat(format, code);
      const std::uint32_t back = encodeFloat(format, value, true);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(decodeFloat(format, back))) << dtypeName(c.type) << ' ' << code;
      else
        EXPECT_EQ(back, code) << dtypeName(c.type);
    }
  }
}

// Between neighbours: nearest, and the even code at the middle.
TEST(SmallFloat, RoundsToNearestTiesToEven) {
  for (const Case& c : kCases) {
    const FloatFormat& format = *floatFormat(c.type);
    for (std::uint32_t code = 0; code + 1 < 1u << (c.bits - 1); ++code) {
      const double low = decodeFloat(format, code), high = decodeFloat(format, code + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      const double middle = low + (high - low) / 2, step = (high - low) / 1024;
      for (double sign : {1.0, -1.0}) {
        auto rounded = [&](double value) {
          return decodeFloat(format, encodeFloat(format, sign * value, true));
        };
        EXPECT_EQ(rounded(middle - step), sign * low) << dtypeName(c.type) << ' ' << code;
        EXPECT_EQ(rounded(middle + step), sign * high) << dtypeName(c.type) << ' ' << code;
        EXPECT_EQ(rounded(middle), sign * (code % 2 == 0 ? low : high)) << dtypeName(c.type) << ' ' << code;
      }
    }
  }
}

TEST(SmallFloat, OutOfRange) {
  for (const Case& c : kCases) {
    const FloatFormat& format = *floatFormat(c.type);
    const bool saturates = c.type != DType::kF16 && c.type != DType::kBF16;
    for (double value : {c.largest * 1.5, 1e300, kInf}) {
      for (double sign : {1.0, -1.0}) {
        const double saturated = decodeFloat(format, encodeFloat(format, sign * value, false));
        EXPECT_EQ(saturated, sign * (saturates ? c.largest : kInf)) << dtypeName(c.type);
        const double over = decodeFloat(format, encodeFloat(format, sign * value, true));
        if (c.infinity)
          EXPECT_EQ(over, sign * kInf) << dtypeName(c.type);
        else if (c.type == DType::kF4E2M1FN)
          EXPECT_EQ(over, sign * c.largest);
        else
          EXPECT_TRUE(std::isnan(over)) << dtypeName(c.type);
      }
    }
    EXPECT_EQ(decodeFloat(format, encodeFloat(format, 1e-300, true)), 0) << dtypeName(c.type);
    EXPECT_EQ(std::isnan(decodeFloat(format, encodeFloat(format, kNan, false))), c.nans > 0)
        << dtypeName(c.type);
  }
}

TEST(SmallFloat, PowersOfTwo) {
  const FloatFormat& format = *floatFormat(DType::kF8E8M0FNU);
  for (std::uint32_t code = 0; code < 255; ++code) {
    const double value = decodeFloat(format, code);
    EXPECT_EQ(value, std::ldexp(1.0, static_cast<int>(code) - 127));
    for (auto rounding : {FloatRounding::kNearest, FloatRounding::kUp, FloatRounding::kDown})
      EXPECT_EQ(encodeFloat(format, value, false, rounding), code);
    if (code == 254) continue;
    EXPECT_EQ(encodeFloat(format, value * 1.49, false, FloatRounding::kNearest), code);
    EXPECT_EQ(encodeFloat(format, value * 1.5, false, FloatRounding::kNearest), code + 1);
    EXPECT_EQ(encodeFloat(format, value * 1.001, false, FloatRounding::kUp), code + 1);
    EXPECT_EQ(encodeFloat(format, value * 1.999, false, FloatRounding::kDown), code);
  }
  EXPECT_TRUE(std::isnan(decodeFloat(format, 255)));
  EXPECT_EQ(encodeFloat(format, 1e300, false), 254u);
  EXPECT_EQ(encodeFloat(format, 1e300, true), 255u);
  EXPECT_EQ(encodeFloat(format, kInf, false), 255u);
  EXPECT_EQ(encodeFloat(format, kNan, false), 255u);
  EXPECT_EQ(encodeFloat(format, 0, false), 0u);
}

}  // namespace
}  // namespace kiln
