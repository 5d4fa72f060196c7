// The builtins archive for x86-64, its symbols prefixed with kiln_test_ (see CMakeLists.txt), against the C
// library.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

extern "C" {
void* kiln_test_memcpy(void*, const void*, std::size_t);
void* kiln_test_memmove(void*, const void*, std::size_t);
void* kiln_test_memset(void*, int, std::size_t);
int kiln_test_memcmp(const void*, const void*, std::size_t);
float kiln_test_fmodf(float, float);
double kiln_test_fmod(double, double);
float kiln_test___powisf2(float, int);
double kiln_test___powidf2(double, int);
std::uint16_t kiln_test_toBf16(float);
std::uint16_t kiln_test_doubleToBf16(double);
std::uint16_t kiln_test_doubleToF16(double);
}

namespace kiln::math::test {
namespace {

std::vector<unsigned char> pattern(std::size_t count) {
  std::vector<unsigned char> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(i * 37 + 11);
  return bytes;
}

TEST(Builtins, MemoryFunctionsTouchExactlyTheirRange) {
  for (std::size_t n = 0; n < 200; ++n) {
    for (std::size_t offset = 0; offset < 3; ++offset) {
      const auto source = pattern(n + 8);
      std::vector<unsigned char> got(n + 16, 0xee), want = got;
      EXPECT_EQ(kiln_test_memcpy(got.data() + 3, source.data() + offset, n), got.data() + 3);
      std::memcpy(want.data() + 3, source.data() + offset, n);
      ASSERT_EQ(got, want) << "memcpy of " << n;
      EXPECT_EQ(kiln_test_memset(got.data() + 5, 0x1a5, n), got.data() + 5);
      std::memset(want.data() + 5, 0xa5, n);
      ASSERT_EQ(got, want) << "memset of " << n;
    }
  }
}

TEST(Builtins, MemmoveOfOverlappingRanges) {
  for (std::size_t n = 0; n < 150; ++n) {
    for (int shift = -70; shift <= 70; ++shift) {
      auto got = pattern(400), want = got;
      kiln_test_memmove(got.data() + 100 + shift, got.data() + 100, n);
      std::memmove(want.data() + 100 + shift, want.data() + 100, n);
      ASSERT_EQ(got, want) << n << " bytes by " << shift;
    }
  }
}

TEST(Builtins, MemcmpOrdersByUnsignedBytes) {
  const unsigned char a[] = {1, 2, 0x80}, b[] = {1, 2, 0x7f};
  EXPECT_EQ(kiln_test_memcmp(a, b, 2), 0);
  EXPECT_GT(kiln_test_memcmp(a, b, 3), 0);
  EXPECT_LT(kiln_test_memcmp(b, a, 3), 0);
  EXPECT_EQ(kiln_test_memcmp(a, b, 0), 0);
}

template <class T, class Bits>
void remainders(T (*got)(T, T)) {
  std::mt19937_64 random(3);
  const T special[] = {0,
                       T(-0.0),
                       1,
                       T(-1.5),
                       3,
                       std::numeric_limits<T>::infinity(),
                       std::numeric_limits<T>::quiet_NaN(),
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max()};
  for (int i = 0; i < 20000; ++i) {
    const bool notable = i < 100;  // every pair of special values first
    const T x = notable ? special[i / 10] : std::bit_cast<T>(static_cast<Bits>(random()));
    const T y = notable ? special[i % 10] : std::bit_cast<T>(static_cast<Bits>(random()));
    const T want = std::fmod(x, y), result = got(x, y);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(result)) << x << " " << y;
    } else {
      ASSERT_EQ(std::bit_cast<Bits>(result), std::bit_cast<Bits>(want)) << x << " mod " << y;
    }
  }
}

TEST(Builtins, FmodIsExact) {
  remainders<float, std::uint32_t>(kiln_test_fmodf);
  remainders<double, std::uint64_t>(kiln_test_fmod);
}

TEST(Builtins, Powi) {
  EXPECT_EQ(kiln_test___powisf2(3.0f, 5), 243.0f);
  EXPECT_EQ(kiln_test___powidf2(2.0, -3), 0.125);
  EXPECT_EQ(kiln_test___powidf2(7.0, 0), 1.0);
  EXPECT_EQ(kiln_test___powidf2(2.0, std::numeric_limits<int>::min()), 0.0);
}

// The 16-bit neighbour of x that a single rounding to nearest even gives, found by search; finite, in range.
std::uint16_t nearest16(double x, int mantissaBits) {
  const int bias = mantissaBits == 7 ? 127 : 15;
  const auto value = [&](std::uint32_t bits) {
    const int exponent = static_cast<int>(bits >> mantissaBits);
    const double fraction = bits & ((1u << mantissaBits) - 1);
    return exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissaBits)
                         : std::ldexp(fraction + (1 << mantissaBits), exponent - bias - mantissaBits);
  };
  std::uint32_t low = 0, high = ((2u * static_cast<std::uint32_t>(bias)) + 1) << mantissaBits;  // infinity
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (value(middle) <= std::fabs(x) ? low : high) = middle;
  }
  const double below = std::fabs(x) - value(low), above = value(high) - std::fabs(x);
  const std::uint32_t chosen = below < above || (below == above && low % 2 == 0) ? low : high;
  return static_cast<std::uint16_t>(chosen | (std::signbit(x) ? 0x8000u : 0));
}

TEST(Builtins, NarrowingRoundsOnce) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-30, 17);
  for (int i = 0; i < 100000; ++i) {
    double x = std::exp2(exponent(random)) * (random() % 2 ? 1 : -1);
    // Near ties: half way between two 16-bit values, off by something a float cannot hold.
    if (i % 2) {
      const float coarse =
          std::bit_cast<float>((std::bit_cast<std::uint32_t>(static_cast<float>(x)) & 0xffff0000u) | 0x8000u);
      x = static_cast<double>(coarse) * (1 + (i % 4 == 1 ? 1e-15 : -1e-15));
    }
    ASSERT_EQ(kiln_test_doubleToBf16(x), nearest16(x, 7)) << x;
    ASSERT_EQ(kiln_test_doubleToF16(x), nearest16(x, 10)) << x;
    ASSERT_EQ(kiln_test_toBf16(static_cast<float>(x)), nearest16(static_cast<float>(x), 7)) << x;
  }
}

TEST(Builtins, NarrowingOfSpecialValues) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(kiln_test_doubleToF16(inf), 0x7c00);
  EXPECT_EQ(kiln_test_doubleToF16(-1e300), 0xfc00);
  EXPECT_EQ(kiln_test_doubleToBf16(1e300), 0x7f80);
  EXPECT_EQ(kiln_test_doubleToBf16(-inf), 0xff80);
  EXPECT_EQ(kiln_test_doubleToBf16(-0.0), 0x8000);
  EXPECT_EQ(kiln_test_doubleToF16(1e-300), 0x0000);
  EXPECT_GT(kiln_test_doubleToBf16(nan) & 0x7fff, 0x7f80);
  EXPECT_GT(kiln_test_toBf16(std::bit_cast<float>(0x7f800001u)) & 0x7fff, 0x7f80);
}

}  // namespace
}  // namespace kiln::math::test
