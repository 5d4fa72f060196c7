// Measures every function of the math library against long double and compares with the table in
// compiler_core/math/ACCURACY.md, which it writes anew when KILN_ACCEPT_GOLDEN is set. Points and results are
// the same on every machine, so the table cannot differ from what the library does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "compiler_core/math/math.h"
#include "tests/compiler_core/math/ulp.h"

namespace kiln::math::test {
namespace {

// What no row may exceed, whatever the table says, in units of the last place.
constexpr double kLimit = 2.0;

template <class T>
constexpr const char* kType = sizeof(T) == 4 ? "f32" : "f64";

template <class T>
struct Row {
  const char* name;
  T (*function)(T);
  long double (*exact)(long double);
  T low, high;
  const char* range;
};

// The position of x among all values of its type in ascending order, and back.
template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
template <class T>
Bits<T> positionOf(T x) {
  constexpr Bits<T> kSign = Bits<T>{1} << (8 * sizeof(T) - 1);
  const auto bits = std::bit_cast<Bits<T>>(x);
  return bits & kSign ? ~bits : bits | kSign;
}
template <class T>
T valueAt(Bits<T> position) {
  constexpr Bits<T> kSign = Bits<T>{1} << (8 * sizeof(T) - 1);
  return std::bit_cast<T>(position & kSign ? position & ~kSign : ~position);
}

// Half of the points evenly over the range, half evenly over its representable values (small and large
// magnitudes alike).
template <class T>
std::vector<T> points(T low, T high, std::size_t count) {
  std::mt19937_64 random(20261120);
  std::vector<T> result;
  std::uniform_real_distribution<double> value(low, high);
  while (result.size() < count / 2) result.push_back(std::clamp(static_cast<T>(value(random)), low, high));
  const Bits<T> first = positionOf(low), span = positionOf(high) - first;
  while (result.size() < count) result.push_back(valueAt<T>(first + static_cast<Bits<T>>(random() % span)));
  return result;
}

class Table {
 public:
  void add(const char* name, const char* type, const std::string& range, double worst,
           const std::string& at) {
    EXPECT_LE(worst, kLimit) << name << " " << type << " at " << at;
    rows_ +=
        fmt::format("| {} | {} | {} | {:.2f} | {} |\n", name, type, range, std::ceil(worst * 100) / 100, at);
  }

  std::string text() const {
    return "# Accuracy\n\nLargest error found, in units of the last place, rounded up to a hundredth, and "
           "the argument "
           "where it was found.\nWritten by `tests/compiler_core/math/accuracy_test.cc` "
           "(`KILN_ACCEPT_GOLDEN=1 "
           "compiler_core_math_test\n--gtest_filter=Accuracy.*`); the test fails when this file says "
           "anything "
           "else.\n\n| Function | Type | Range | ulp | At |\n|---|---|---|---|---|\n" +
           rows_;
  }

 private:
  std::string rows_;
};

template <class T>
void measure(Table& table, const Row<T>& row, std::size_t count) {
  double worst = 0;
  T at = 0;
  for (const T x : points<T>(row.low, row.high, count)) {
    const double distance = ulpDistance(row.function(x), row.exact(static_cast<long double>(x)));
    if (distance > worst) worst = distance, at = x;
  }
  table.add(row.name, kType<T>, row.range, worst, fmt::format("{}", at));
}

template <class T>
void measureUnary(Table& table, std::size_t count) {
  constexpr bool kNarrow = sizeof(T) == 4;
  const T max = std::numeric_limits<T>::max(), tiny = std::numeric_limits<T>::denorm_min();
  // exp and friends: from where the result vanishes (subnormals included) to where it overflows.
  const T under = kNarrow ? T(-104) : T(-746), over = kNarrow ? T(88.8) : T(709.8);
  const T overHyperbolic = kNarrow ? T(89.5) : T(710.5);
  // The uniform half of the points of a symmetric range needs its width to be finite.
  const T half = max / 2;
  const Row<T> rows[] = {
      {"exp", math::exp, std::exp, under, over, "all"},
      {"expm1", math::expm1, std::expm1, T(-45), over, "all"},
      {"expm1", math::expm1, std::expm1, T(-2), T(2), "[-2, 2]"},
      {"log", math::log, std::log, tiny, max, "all positive"},
      {"log", math::log, std::log, T(0.5), T(2), "[1/2, 2]"},
      {"log1p", math::log1p, std::log1p, std::nextafter(T(-1), T(0)), max, "all above -1"},
      {"log1p", math::log1p, std::log1p, T(-0.9), T(2), "[-0.9, 2]"},
      {"tanh", math::tanh, std::tanh, T(-22), T(22), "all"},
      {"erf", math::erf, std::erf, T(-6.5), T(6.5), "all"},
      {"sin", math::sin, std::sin, -half, half, "all finite"},
      {"sin", math::sin, std::sin, T(-1e3), T(1e3), "[-1000, 1000]"},
      {"cos", math::cos, std::cos, -half, half, "all finite"},
      {"cos", math::cos, std::cos, T(-1e3), T(1e3), "[-1000, 1000]"},
      {"tan", math::tan, std::tan, -half, half, "all finite"},
      {"tan", math::tan, std::tan, T(-1e3), T(1e3), "[-1000, 1000]"},
      {"asin", math::asin, std::asin, T(-1), T(1), "all"},
      {"acos", math::acos, std::acos, T(-1), T(1), "all"},
      {"acos", math::acos, std::acos, T(0.99), T(1), "[0.99, 1]"},
      {"atan", math::atan, std::atan, -half, half, "all"},
      {"atan", math::atan, std::atan, T(-8), T(8), "[-8, 8]"},
      {"sinh", math::sinh, std::sinh, -overHyperbolic, overHyperbolic, "all"},
      {"sinh", math::sinh, std::sinh, T(-3), T(3), "[-3, 3]"},
      {"cosh", math::cosh, std::cosh, -overHyperbolic, overHyperbolic, "all"},
      {"cosh", math::cosh, std::cosh, T(-3), T(3), "[-3, 3]"},
      {"asinh", math::asinh, std::asinh, -half, half, "all"},
      {"asinh", math::asinh, std::asinh, T(-4), T(4), "[-4, 4]"},
      {"acosh", math::acosh, std::acosh, T(1), max, "all from 1"},
      {"acosh", math::acosh, std::acosh, T(1), T(3), "[1, 3]"},
      {"atanh", math::atanh, std::atanh, std::nextafter(T(-1), T(0)), std::nextafter(T(1), T(0)), "all"},
  };
  for (const Row<T>& row : rows) measure(table, row, count);
}

template <class T>
void measurePow(Table& table, int count, double magnitude) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-magnitude, magnitude), power(-40, 40), nearOne(0.9, 1.1);
  double worst = 0;
  std::string at;
  for (int i = 0; i < count; ++i) {
    const bool near = i % 3 == 0;
    const T x = static_cast<T>(
        near ? nearOne(random) : std::ldexp(1 + nearOne(random) / 2, static_cast<int>(exponent(random))));
    const T y = static_cast<T>(near ? power(random) * 200 : power(random));
    const long double exact = std::pow(static_cast<long double>(x), static_cast<long double>(y));
    const double distance = ulpDistance(math::pow(x, y), exact);
    if (distance > worst) worst = distance, at = fmt::format("{}, {}", x, y);
  }
  table.add("pow", kType<T>, "all", worst, at);
}

TEST(Accuracy, TableSaysWhatTheLibraryDoes) {
  Table table;
  measureUnary<float>(table, 500000);
  measurePow<float>(table, 1000000, 126);
  measureUnary<double>(table, 300000);
  measurePow<double>(table, 1000000, 1000);
  if (std::getenv("KILN_ACCEPT_GOLDEN")) {
    std::ofstream(KILN_ACCURACY_TABLE) << table.text();
    GTEST_SKIP() << "wrote " << KILN_ACCURACY_TABLE;
  }
  std::ifstream file(KILN_ACCURACY_TABLE);
  std::stringstream committed;
  committed << file.rdbuf();
  EXPECT_EQ(committed.str(), table.text())
      << "if the library changed on purpose, run again with KILN_ACCEPT_GOLDEN=1";
}

}  // namespace
}  // namespace kiln::math::test
