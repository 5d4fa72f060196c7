// Conversions of the 16-bit floats, for every pattern, and the order of values.
#include "compiler_core/kernels/numeric.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace kiln::kernels {
namespace {

// The value of a 16-bit pattern by its definition.
double valueOf(unsigned bits, int mantissaBits) {
  const int exponentBits = 15 - mantissaBits, bias = (1 << (exponentBits - 1)) - 1;
  const int exponent = static_cast<int>((bits & 0x7fffu) >> mantissaBits);
  const double fraction = bits & ((1u << mantissaBits) - 1), sign = bits & 0x8000u ? -1 : 1;
  if (exponent == (1 << exponentBits) - 1)
    return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissaBits);
  return sign * std::ldexp(fraction + (1 << mantissaBits), exponent - bias - mantissaBits);
}

template <class T>
void checkEveryPattern(int mantissaBits, T (*narrow)(float)) {
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    const double want = valueOf(bits, mantissaBits);
    const float got = toFloat(T{static_cast<U16>(bits)});
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
      ASSERT_TRUE(std::isnan(toFloat(narrow(got)))) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(got), want) << bits;
    ASSERT_EQ(std::signbit(got), std::signbit(want)) << bits;
    ASSERT_EQ(narrow(got).bits, bits);
    // Half way to the next pattern goes to the even one, off it to the nearer one.
    const double next = valueOf(bits + 1, mantissaBits);
    if ((bits & 0x7fffu) == 0x7fffu || !std::isfinite(want) || !std::isfinite(next)) continue;
    const float middle = static_cast<float>((want + next) / 2);
    if (static_cast<double>(middle) != (want + next) / 2) continue;  // bf16 subnormals: beyond f32
    ASSERT_EQ(narrow(middle).bits, bits % 2 ? bits + 1 : bits);
    ASSERT_EQ(narrow(std::nextafter(middle, static_cast<float>(next))).bits, bits + 1);
    ASSERT_EQ(narrow(std::nextafter(middle, static_cast<float>(want))).bits, bits);
  }
}

TEST(Numeric, F16) {
  checkEveryPattern<F16>(10, toF16);
  EXPECT_EQ(toF16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(toF16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(toF16(-1e30f).bits, 0xfc00);
}

TEST(Numeric, BF16) {
  checkEveryPattern<BF16>(7, toBF16);
  EXPECT_EQ(toBF16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

TEST(Numeric, OrderOfValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(before(inf, nan));
  EXPECT_FALSE(before(nan, inf));
  EXPECT_FALSE(before(nan, -nan));
  EXPECT_FALSE(before(-0.0f, 0.0f));
  EXPECT_TRUE(before<U64>(1, ~U64{0}));
  EXPECT_TRUE(before<I8>(-1, 0));
  EXPECT_FALSE(std::signbit(extreme<float, true>(-0.0f, 0.0f)));
  EXPECT_TRUE(std::signbit(extreme<float, false>(0.0f, -0.0f)));
  EXPECT_TRUE(std::isnan(extreme<float, true>(nan, 1.0f)));
  EXPECT_TRUE(std::isnan(extreme<double, false>(1.0, std::nan(""))));
}

}  // namespace
}  // namespace kiln::kernels
