// Distance of a result from the exact value in units of the last place of the result's type.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace kiln::math::test {

// `exact` in long double (64 bits of mantissa). Infinity against a value that rounds to infinity is 0; NaN
// against NaN is 0; any other mismatch of kind is infinite.
template <class T>
double ulpDistance(T got, long double exact) {
  if (std::isnan(exact) || std::isnan(got)) {
    return std::isnan(exact) && std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  }
  if (static_cast<long double>(got) == exact) return 0;
  if (std::isinf(got)) {
    return static_cast<T>(exact) == got ? 0 : std::numeric_limits<double>::infinity();
  }
  int exponent = 0;
  std::frexp(exact, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / unit);
}

}  // namespace kiln::math::test
