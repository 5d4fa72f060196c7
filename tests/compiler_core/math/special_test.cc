// Special values: NaN, infinities, signed zeros, subnormals, overflow; for pow the whole table of the C
// standard.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "compiler_core/math/math.h"

namespace kiln::math::test {
namespace {

template <class T>
class Special : public testing::Test {
 protected:
  using Limits = std::numeric_limits<T>;
  static constexpr T inf = Limits::infinity(), nan = Limits::quiet_NaN(), tiny = Limits::denorm_min(),
                     max = Limits::max();
  // Equal in value and sign; a NaN must be the canonical one.
  static void same(T got, T want) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    EXPECT_EQ(std::bit_cast<Bits>(got), std::bit_cast<Bits>(want)) << got << " instead of " << want;
  }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Special, Types);

TYPED_TEST(Special, Unary) {
  using T = TypeParam;
  using S = Special<T>;
  const T zero = 0, minusZero = -zero, one = 1;
  using Function = T (*)(T);
  for (Function f : {Function(math::exp), Function(math::expm1), Function(math::log), Function(math::log1p),
                     Function(math::tanh), Function(math::erf), Function(math::sin), Function(math::cos),
                     Function(math::tan), Function(math::asin), Function(math::acos), Function(math::atan),
                     Function(math::sinh), Function(math::cosh), Function(math::asinh), Function(math::acosh),
                     Function(math::atanh)}) {
    S::same(f(S::nan), S::nan);
    S::same(f(-S::nan), S::nan);
  }
  // Odd functions that are x near zero.
  for (Function f : {Function(math::expm1), Function(math::log1p), Function(math::tanh), Function(math::sin),
                     Function(math::tan), Function(math::asin), Function(math::atan), Function(math::sinh),
                     Function(math::asinh), Function(math::atanh)}) {
    S::same(f(zero), zero);
    S::same(f(minusZero), minusZero);
    S::same(f(S::tiny), S::tiny);
    S::same(f(-S::tiny), -S::tiny);
  }
  S::same(math::exp(S::inf), S::inf);
  S::same(math::exp(-S::inf), zero);
  S::same(math::exp(zero), one);
  S::same(math::exp(minusZero), one);
  S::same(math::exp(S::max), S::inf);
  S::same(math::exp(-S::max), zero);
  S::same(math::exp(S::tiny), one);
  S::same(math::log(zero), -S::inf);
  S::same(math::log(minusZero), -S::inf);
  S::same(math::log(one), zero);
  S::same(math::log(S::inf), S::inf);
  S::same(math::log(-one), S::nan);
  S::same(math::log(-S::inf), S::nan);
  S::same(math::log(-S::tiny), S::nan);
  for (T (*f)(T) : {static_cast<T (*)(T)>(math::tanh), static_cast<T (*)(T)>(math::erf)}) {
    S::same(f(S::inf), one);
    S::same(f(-S::inf), -one);
    S::same(f(zero), zero);
    S::same(f(minusZero), minusZero);
    S::same(f(S::max), one);
  }
  S::same(math::tanh(S::tiny), S::tiny);
  S::same(math::tanh(-S::tiny), -S::tiny);
  S::same(math::sin(zero), zero);
  S::same(math::sin(minusZero), minusZero);
  S::same(math::sin(S::tiny), S::tiny);
  S::same(math::cos(minusZero), one);
  for (Function f : {Function(math::sin), Function(math::cos), Function(math::tan), Function(math::asin),
                     Function(math::acos), Function(math::atanh)}) {
    S::same(f(S::inf), S::nan);
    S::same(f(-S::inf), S::nan);
  }
  S::same(math::expm1(S::inf), S::inf);
  S::same(math::expm1(-S::inf), -one);
  S::same(math::expm1(S::max), S::inf);
  S::same(math::expm1(-S::max), -one);
  S::same(math::log1p(-one), -S::inf);
  S::same(math::log1p(S::inf), S::inf);
  S::same(math::log1p(-S::inf), S::nan);
  S::same(math::log1p(std::nextafter(-one, -T(2))), S::nan);
  const T above = std::nextafter(one, T(2));
  for (Function f : {Function(math::asin), Function(math::acos), Function(math::atanh)}) {
    S::same(f(above), S::nan);
    S::same(f(-above), S::nan);
  }
  const T halfPi = static_cast<T>(1.57079632679489661923L), pi = static_cast<T>(3.14159265358979323846L);
  S::same(math::asin(one), halfPi);
  S::same(math::asin(-one), -halfPi);
  S::same(math::acos(one), zero);
  S::same(math::acos(-one), pi);
  S::same(math::acos(zero), halfPi);
  S::same(math::atan(S::inf), halfPi);
  S::same(math::atan(-S::inf), -halfPi);
  S::same(math::atan(-S::max), -halfPi);
  for (Function f : {Function(math::sinh), Function(math::asinh)}) {
    S::same(f(S::inf), S::inf);
    S::same(f(-S::inf), -S::inf);
  }
  S::same(math::sinh(S::max), S::inf);
  S::same(math::sinh(-S::max), -S::inf);
  S::same(math::cosh(S::max), S::inf);
  S::same(math::cosh(S::inf), S::inf);
  S::same(math::cosh(-S::inf), S::inf);
  S::same(math::cosh(minusZero), one);
  S::same(math::acosh(one), zero);
  S::same(math::acosh(S::inf), S::inf);
  S::same(math::acosh(-S::inf), S::nan);
  S::same(math::acosh(std::nextafter(one, zero)), S::nan);
  S::same(math::acosh(-S::max), S::nan);
  S::same(math::atanh(one), S::inf);
  S::same(math::atanh(-one), -S::inf);
}

TYPED_TEST(Special, ExpKeepsSubnormalResults) {
  using T = TypeParam;
  const T x = sizeof(T) == 4 ? T(-100) : T(-740);
  EXPECT_GT(math::exp(x), T(0));
  EXPECT_LT(math::exp(x), std::numeric_limits<T>::min());
}

// Every pair of notable values against the C library, which follows the standard's table.
TYPED_TEST(Special, Pow) {
  using T = TypeParam;
  using S = Special<T>;
  const T notable[] = {0,
                       T(-0.0),
                       1,
                       -1,
                       2,
                       -2,
                       3,
                       -3,
                       T(0.5),
                       T(-0.5),
                       T(1.5),
                       T(-1.5),
                       10,
                       -10,
                       T(1e9),
                       T(-1e9),
                       T(16777215),
                       T(16777216),
                       T(8388607.5),
                       T(9007199254740991),
                       T(9007199254740992),
                       S::tiny,
                       -S::tiny,
                       S::max,
                       -S::max,
                       S::inf,
                       -S::inf,
                       S::nan};
  for (const T x : notable) {
    for (const T y : notable) {
      const T want = std::pow(x, y), got = math::pow(x, y);
      if (std::isnan(want)) {
        S::same(got, S::nan);
      } else if (std::isinf(want) || want == 0) {
        S::same(got, want);
      } else {
        EXPECT_NEAR(got / want, T(1), 4 * std::numeric_limits<T>::epsilon()) << x << " ^ " << y;
      }
    }
  }
}

}  // namespace
}  // namespace kiln::math::test
