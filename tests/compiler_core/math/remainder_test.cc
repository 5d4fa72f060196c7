// The remainder that devices get is fmod, to the bit.
#include "compiler_core/math/remainder.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace kiln::math::test {
namespace {

template <class T, class Bits>
void expectFmod(T x, T y) {
  const T got = remainder<Lanes<1>>(x, y), want = std::fmod(x, y);
  if (std::isnan(want))
    EXPECT_EQ(std::bit_cast<Bits>(got), std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN()))
        << x << " " << y;
  else
    EXPECT_EQ(std::bit_cast<Bits>(got), std::bit_cast<Bits>(want)) << x << " " << y;
}

template <class T, class Bits>
void tryAll() {
  using Limits = std::numeric_limits<T>;
  const T special[] = {0,
                       -T(0),
                       1,
                       -1,
                       T(0.3),
                       3,
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::quiet_NaN(),
                       Limits::max(),
                       Limits::min(),
                       Limits::denorm_min(),
                       -3 * Limits::denorm_min()};
  for (const T x : special)
    for (const T y : special) expectFmod<T, Bits>(x, y);
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i)
    expectFmod<T, Bits>(std::bit_cast<T>(static_cast<Bits>(random())),
                        std::bit_cast<T>(static_cast<Bits>(random())));
}

TEST(Remainder, IsFmodInF32) {
  tryAll<float, std::uint32_t>();
}

TEST(Remainder, IsFmodInF64) {
  tryAll<double, std::uint64_t>();
}

}  // namespace
}  // namespace kiln::math::test
