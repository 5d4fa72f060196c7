// Asserts the bounds of the accuracy table in compiler_core/math/README.md, against long double.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "compiler_core/math/math.h"
#include "tests/compiler_core/math/ulp.h"

namespace kiln::math::test {
namespace {

using Exact = std::function<long double(long double)>;

template <class T>
struct Row {
  std::string name;
  T (*function)(T);
  Exact exact;
  T low, high;
  double bound;
};

// Half of the points evenly over the range, half evenly over the bit patterns (small and large magnitudes
// alike).
template <class T>
std::vector<T> points(T low, T high, int count) {
  std::mt19937_64 random(20261120);
  std::vector<T> result;
  std::uniform_real_distribution<double> value(low, high);
  for (int i = 0; i < count; ++i) result.push_back(static_cast<T>(value(random)));
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  while (result.size() < 2u * static_cast<std::size_t>(count)) {
    const T x = std::bit_cast<T>(static_cast<Bits>(random()));
    if (x >= low && x <= high) result.push_back(x);
    if (-x >= low && -x <= high) result.push_back(-x);
  }
  return result;
}

template <class T>
void check(const Row<T>& row, int count) {
  double worst = 0;
  T at = 0;
  for (const T x : points<T>(row.low, row.high, count)) {
    const double distance = ulpDistance(row.function(x), row.exact(static_cast<long double>(x)));
    if (distance > worst) worst = distance, at = x;
  }
  std::printf("%-6s %s [%g, %g]: max %.4f ulp at %.17g\n", row.name.c_str(), sizeof(T) == 4 ? "f32" : "f64",
              static_cast<double>(row.low), static_cast<double>(row.high), worst, static_cast<double>(at));
  EXPECT_LE(worst, row.bound) << row.name << " at " << static_cast<double>(at);
}

const Exact kExp = [](long double x) { return std::exp(x); };
const Exact kLog = [](long double x) { return std::log(x); };
const Exact kTanh = [](long double x) { return std::tanh(x); };
const Exact kErf = [](long double x) { return std::erf(x); };
const Exact kSin = [](long double x) { return std::sin(x); };
const Exact kCos = [](long double x) { return std::cos(x); };

TEST(Accuracy, F32) {
  const float max = std::numeric_limits<float>::max(), tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<Row<float>> rows = {
      {"exp", math::exp, kExp, -104.0f, 88.8f, 1.0}, {"log", math::log, kLog, tiny, max, 0.51},
      {"tanh", math::tanh, kTanh, -max, max, 1.1},   {"tanh", math::tanh, kTanh, -10.0f, 10.0f, 1.1},
      {"erf", math::erf, kErf, -max, max, 1.25},     {"erf", math::erf, kErf, -4.0f, 4.0f, 1.25},
      {"sin", math::sin, kSin, -max, max, 0.51},     {"sin", math::sin, kSin, -100.0f, 100.0f, 0.51},
      {"cos", math::cos, kCos, -max, max, 0.51},     {"cos", math::cos, kCos, -100.0f, 100.0f, 0.51},
  };
  for (const auto& row : rows) check(row, 1000000);
}

TEST(Accuracy, F64) {
  const double max = std::numeric_limits<double>::max(), tiny = std::numeric_limits<double>::denorm_min();
  const std::vector<Row<double>> rows = {
      {"exp", math::exp, kExp, -746.0, 709.8, 0.85}, {"log", math::log, kLog, tiny, max, 0.85},
      {"log", math::log, kLog, 0.5, 2.0, 0.85},      {"tanh", math::tanh, kTanh, -22.0, 22.0, 1.1},
      {"erf", math::erf, kErf, -6.5, 6.5, 1.35},     {"sin", math::sin, kSin, -max / 2, max / 2, 0.8},
      {"sin", math::sin, kSin, -1e6, 1e6, 0.8},      {"cos", math::cos, kCos, -max / 2, max / 2, 0.8},
      {"cos", math::cos, kCos, -1e6, 1e6, 0.8},
  };
  for (const auto& row : rows) check(row, 300000);
}

template <class T>
double worstPow(int count, T magnitude) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-static_cast<double>(magnitude),
                                                  static_cast<double>(magnitude));
  std::uniform_real_distribution<double> power(-40, 40), nearOne(0.9, 1.1);
  double worst = 0;
  for (int i = 0; i < count; ++i) {
    const T x = static_cast<T>(i % 3 == 0 ? nearOne(random) : std::exp2(exponent(random)));
    const T y = static_cast<T>(i % 3 == 0 ? power(random) * 200 : power(random));
    const long double exact = std::pow(static_cast<long double>(x), static_cast<long double>(y));
    worst = std::max(worst, ulpDistance(math::pow(x, y), exact));
  }
  return worst;
}

TEST(Accuracy, Pow) {
  const double f32 = worstPow<float>(2000000, 126.0f), f64 = worstPow<double>(1000000, 1000.0);
  std::printf("pow f32: max %.4f ulp, pow f64: max %.4f ulp\n", f32, f64);
  EXPECT_LE(f32, 0.51);
  EXPECT_LE(f64, 0.95);
}

}  // namespace
}  // namespace kiln::math::test
