// The routines of kmath.bc, linked and inlined as a program's code generation does it, against kiln::math on
// the host: every width and type must give the same bits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "compiler_core/math/math.h"

using Routine = void(void* result, const void* x, const void* y);
#define KILN_UNARY(X, suffix, ...) \
  X(exp, suffix, __VA_ARGS__)      \
  X(expm1, suffix, __VA_ARGS__)    \
  X(log, suffix, __VA_ARGS__)      \
  X(log1p, suffix, __VA_ARGS__)    \
  X(tanh, suffix, __VA_ARGS__)     \
  X(erf, suffix, __VA_ARGS__)      \
  X(sin, suffix, __VA_ARGS__)      \
  X(cos, suffix, __VA_ARGS__)      \
  X(tan, suffix, __VA_ARGS__)      \
  X(asin, suffix, __VA_ARGS__)     \
  X(acos, suffix, __VA_ARGS__)     \
  X(atan, suffix, __VA_ARGS__)     \
  X(sinh, suffix, __VA_ARGS__)     \
  X(cosh, suffix, __VA_ARGS__)     \
  X(asinh, suffix, __VA_ARGS__)    \
  X(acosh, suffix, __VA_ARGS__)    \
  X(atanh, suffix, __VA_ARGS__)
#define KILN_DECLARE_ONE(name, suffix, ...) extern "C" Routine test_##name##_##suffix;
#define KILN_DECLARE(suffix)              \
  KILN_UNARY(KILN_DECLARE_ONE, suffix, 0) \
  extern "C" Routine test_powf_##suffix;
KILN_DECLARE(f32)
KILN_DECLARE(v4f32)
KILN_DECLARE(v8f32)
KILN_DECLARE(v16f32)
KILN_DECLARE(f64)
KILN_DECLARE(v4f64)
KILN_DECLARE(v8f64)
extern "C" Routine test_exp_v16f32_avx512, test_tanh_v16f32_avx512, test_erf_v16f32_avx512;

namespace kiln::math::test {
namespace {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// Random bit patterns, moderate values, and every special value in every lane sooner or later.
template <class T>
std::vector<T> arguments(std::size_t count, std::uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  const T special[] = {0,
                       T(-0.0),
                       1,
                       -1,
                       T(0.5),
                       2,
                       3,
                       -2,
                       -3,
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::quiet_NaN(),
                       -Limits::quiet_NaN(),
                       Limits::denorm_min(),
                       -Limits::denorm_min(),
                       Limits::min(),
                       Limits::max(),
                       -Limits::max(),
                       T(88.7),
                       T(-104),
                       T(709.7),
                       T(-745),
                       T(8388609),
                       T(1e9)};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> moderate(-20, 20);
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto pick = random() % 16;
    if (pick == 0)
      values[i] = special[random() % std::size(special)];
    else if (pick < 8)
      values[i] = std::bit_cast<T>(static_cast<BitsOf<T>>(random()));
    else
      values[i] = static_cast<T>(moderate(random));
  }
  return values;
}

template <class T>
void compare(Routine* routine, T (*unary)(T), T (*binary)(T, T), int lanes, const char* name) {
  const std::size_t count = 1 << 16;
  const std::vector<T> x = arguments<T>(count, 11), y = arguments<T>(count, 12);
  std::vector<T> got(count);
  for (std::size_t i = 0; i < count; i += static_cast<std::size_t>(lanes)) routine(&got[i], &x[i], &y[i]);
  for (std::size_t i = 0; i < count; ++i) {
    const T want = unary != nullptr ? unary(x[i]) : binary(x[i], y[i]);
    ASSERT_EQ(std::bit_cast<BitsOf<T>>(got[i]), std::bit_cast<BitsOf<T>>(want))
        << name << "(" << x[i] << ", " << y[i] << ") = " << got[i] << " in lane "
        << i % static_cast<std::size_t>(lanes) << ", on the host " << want;
  }
}

#define KILN_COMPARE_ONE(name, suffix, T, lanes) \
  compare<T>(test_##name##_##suffix, math::name, nullptr, lanes, #name);
#define KILN_COMPARE(suffix, T, lanes)                                 \
  TEST(VectorBits, suffix) {                                           \
    KILN_UNARY(KILN_COMPARE_ONE, suffix, T, lanes)                     \
    compare<T>(test_powf_##suffix, nullptr, math::pow, lanes, "powf"); \
  }
KILN_COMPARE(f32, float, 1)
KILN_COMPARE(v4f32, float, 4)
KILN_COMPARE(v8f32, float, 8)
KILN_COMPARE(v16f32, float, 16)
KILN_COMPARE(f64, double, 1)
KILN_COMPARE(v4f64, double, 4)
KILN_COMPARE(v8f64, double, 8)

TEST(VectorBits, v16f32_avx512) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "needs a processor with AVX-512";
  compare<float>(test_exp_v16f32_avx512, math::exp, nullptr, 16, "exp");
  compare<float>(test_tanh_v16f32_avx512, math::tanh, nullptr, 16, "tanh");
  compare<float>(test_erf_v16f32_avx512, math::erf, nullptr, 16, "erf");
  // Where the result is no normal number any more, and where it is none yet.
  std::vector<float> x;
  for (float at = -106.0f; at < -80.0f; at += 0x1p-10f) x.push_back(at);
  for (float at = 87.0f; at < 90.0f; at += 0x1p-10f) x.push_back(at);
  for (std::size_t i = 0; i + 16 <= x.size(); i += 16) {
    float got[16];
    test_exp_v16f32_avx512(got, &x[i], nullptr);
    for (std::size_t lane = 0; lane < 16; ++lane)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[lane]), std::bit_cast<std::uint32_t>(math::exp(x[i + lane])))
          << x[i + lane];
  }
}

}  // namespace
}  // namespace kiln::math::test
